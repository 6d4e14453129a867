"""One module a command; each has a function `command` or a typer app `app`."""
