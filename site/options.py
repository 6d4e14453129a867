"""How a site is to be built."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from kbstats.ingest.errors import UsageError
from kbstats.sql.catalog import sql_files

DEFAULT_TITLE = "kernel leaderboard"


@dataclass(frozen=True)
class Options:
    """What a user may choose.

    Attributes:
        title: The site's title.
        redact: Hide private paths, names, addresses and secrets.
        base_url: Where the site will stand: adds canonical links and a sitemap; nothing is loaded from there.
        include_db: Publish the database file too; needs `redact=False`.
        require_verified: Refuse unless every speedup that counts was confirmed by a re-run.
        fail_on: Refuse if any run carries one of these findings.
        db: The database file.
    """

    title: str = DEFAULT_TITLE
    redact: bool = True
    base_url: str | None = None
    include_db: bool = False
    require_verified: bool = False
    fail_on: tuple[str, ...] = ()
    db: Path = field(default_factory=Path)

    def check(self) -> None:
        """Refuse what cannot be meant.

        Raises:
            UsageError: options contradict each other, or name what does not exist.
        """
        if self.include_db and self.redact:
            raise UsageError(
                "--include-db would publish what the pages hide",
                location="--include-db",
                hint="add --no-redact to publish everything, or leave the database out",
            )
        known = {f.name for f in sql_files("audits")}
        for code in self.fail_on:
            if code not in known:
                raise UsageError(
                    "no such finding", location=f"--fail-on {code}", hint=f"one of {', '.join(sorted(known))}"
                )
        if self.base_url is not None and not re.fullmatch(r"https?://[^\s\"'<>#?]+", self.base_url):
            raise UsageError(
                "not an address of a site", location=f"--base-url {self.base_url}", hint="https://example.org/board"
            )
