"""Where the numbers come from: sources, what could not be read, what was hidden, the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.site import export, read
from kbstats.site.pages import SinglePage, Unit, key_of
from kbstats.site.pages.tables import DATABASE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site

SHOWN = 1_000
"""Ingest issues listed; the rest is a number."""


class DataPage(SinglePage):
    """data.html; last, since it reports what the pages before it hid."""

    order = 1_000
    nav = "Data"
    path = "data.html"
    template = "data.html"

    def units(self, site: Site) -> Sequence[Unit]:
        """The page; its key is all that it says."""
        found = self.context(site)
        return [
            Unit(
                self.path,
                found,
                key_of(
                    site.digest,
                    site.newest,
                    found,
                    [site.path("runs", i["run_id"]) for i in found["issues"] if i["run_id"] in site.by_id],
                ),
            )
        ]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Render the page."""
        for unit in units:
            yield unit, {self.path: site.page(self.template, self.path, **unit.subject)}

    def context(self, site: Site) -> dict[str, Any]:
        """Sources by format, issues by code, the redaction report."""
        issues = read.fetch(site.con, read.ISSUES)
        return {
            "sources": read.fetch(site.con, read.SOURCES),
            "totals": site.totals,
            "codes": {
                code: {"n": len(rows), "severity": rows[0]["severity"]}
                for code, rows in sorted(read.grouped(issues, "code").items())
            },
            "issues": issues[:SHOWN],
            "more": max(0, len(issues) - SHOWN),
            "hidden": site.folder.hidden,
            "tables": export.published(),
            "sizes": {p: site.folder.size_of(p) for t in export.published() for p in t.files},
            "database": DATABASE if site.options.include_db else None,
        }


PAGE = DataPage()
