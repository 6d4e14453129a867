"""Where the numbers come from: sources, what could not be read, what was hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.site import read
from kbstats.site.pages import SinglePage, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

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
        """The page; rendered in each build, since it reports on all others."""
        del site
        return [Unit(self.path)]

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
            "hidden": dict(site.hidden),
        }


PAGE = DataPage()
