"""kbstats.site: one static site from one database.

`build.build` walks the page kinds of `kbstats.site.pages`; everything else here serves them. Nothing
imports this package but the command `kbstats site`.
"""  # noqa: A005  `kbstats.site` is always imported by its full name
