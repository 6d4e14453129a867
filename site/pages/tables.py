"""The tables as files, below data/."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from kbstats.site import export
from kbstats.site.pages import Page, Unit, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kbstats.site.context import Site

DATABASE = "data/kbstats.duckdb"


class TableFiles(Page):
    """data/….parquet and data/….csv; the database where that was asked for."""

    order = 900

    def units(self, site: Site) -> Sequence[Unit]:
        """One a table."""
        found = [Unit(f"data/{t.name}", t, key_of(site.digest, export.state(site.con, t))) for t in export.published()]
        return [*found, Unit(DATABASE)] if site.options.include_db else found

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, Mapping[str, str | Path]]]:
        """Tables are written to scratch files that take their place when they are whole."""
        for unit in units:
            if unit.id == DATABASE:
                part = site.folder.scratch(DATABASE)
                shutil.copyfile(site.options.db, part)
                yield unit, {DATABASE: part}
            else:
                parts = {path: site.folder.scratch(path) for path in unit.subject.files}
                paths = list(parts.values())
                export.write(site, unit.subject, paths[0], paths[1] if len(paths) > 1 else None)
                yield unit, parts


PAGE = TableFiles()
