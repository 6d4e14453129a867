"""The error family. Caught once, in the command line; printed as one line on stderr."""

from __future__ import annotations


class KbstatsError(Exception):
    """What went wrong, where, and what to do about it.

    Args:
        message: What went wrong, in a person's words, without a trailing full stop.
        location: The file, database or option it happened at.
        hint: The next step, preferably a command.
        exit_code: The process's exit status. 1 it failed, 2 wrong usage (docs/cli.md).
    """

    exit_code = 1

    def __init__(
        self,
        message: str,
        *,
        location: object | None = None,
        hint: str | None = None,
        exit_code: int | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.location = None if location is None else str(location)
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code

    def __str__(self) -> str:
        text = self.message
        if self.location:
            text += f": {self.location}"
        if self.hint:
            text += f" ({self.hint})"
        return text


class UsageError(KbstatsError):
    """The command's words are off: exit status 2."""

    exit_code = 2


class DatabaseError(KbstatsError):
    """The database is missing, locked, damaged or of another version."""
