"""Where the numbers come from: sources, what could not be read, what was hidden."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from kbstats.site import export, read
from kbstats.site.pages import SinglePage, Unit, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kbstats.site.context import Site

SHOWN = 1_000
"""Ingest issues listed; the rest is a number."""


DATABASE = "data/kbstats.duckdb"


class DataPage(SinglePage):
    """data.html; last, since it reports what the pages before it hid."""

    order = 1_000
    nav = "Data"
    path = "data.html"
    template = "data.html"

    def units(self, site: Site) -> Sequence[Unit]:
        """Each table's files, then the page: it is rendered in each build, since it reports on all others."""
        found = [Unit(f"data/{t.name}", t, key_of(site.digest, export.state(site.con, t))) for t in export.published()]
        if site.options.include_db:
            found.append(Unit(DATABASE))
        return [*found, Unit(self.path)]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, Mapping[str, str | Path]]]:
        """Tables are written to scratch files that take their place when they are whole."""
        for unit in units:
            if unit.id == self.path:
                yield from super().render(site, [unit])
            elif unit.id == DATABASE:
                part = site.folder.scratch(DATABASE)
                shutil.copyfile(site.options.db, part)
                yield unit, {DATABASE: part}
            else:
                parts = {path: site.folder.scratch(path) for path in unit.subject.files}
                paths = list(parts.values())
                export.write(site, unit.subject, paths[0], paths[1] if len(paths) > 1 else None)
                yield unit, parts

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
