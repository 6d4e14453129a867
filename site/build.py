"""Build the site: walk the page kinds, render what changed, write what differs."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from kbstats.site.output import Folder
from kbstats.site.pages import Page, Unit, registry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kbstats.site.context import Site

DEFAULT_TITLE = "kernel leaderboard"


@dataclass(frozen=True)
class Report:
    """What a build did: files by fate, bytes, what was hidden by kind, and how long it took."""

    root: Path
    written: int
    unchanged: int
    removed: int
    size: int
    hidden: dict[str, int]
    seconds: float


def build(db: Path, out: Path, *, title: str = DEFAULT_TITLE, redact: bool = True, force: bool = False) -> Report:
    """Build the site of one database into a folder.

    Args:
        db: The database file.
        out: The folder; new, empty, or holding an earlier build.
        title: The site's title.
        redact: Hide private paths, names, addresses and secrets.
        force: Write into a folder that holds other files; these are left alone.

    Raises:
        DatabaseError: the database is missing, locked, or of another version.
        UsageError: the folder holds something else.
    """
    from kbstats.analytics.warehouse import open_read
    from kbstats.site.context import Site

    start = time.perf_counter()
    folder = Folder(out, force=force)
    con = open_read(db, sealed=True)  # read-only alone still reads any file
    try:
        site = Site(con, title=title, redact=redact)
        site.env.globals["nav"] = tuple((p.nav, p.path) for p in registry() if p.nav)
        _static(folder)
        for page in registry():
            _build_kind(site, page, folder)
    finally:
        con.close()
    folder.close({"site": title})
    return Report(
        out, folder.written, folder.unchanged, folder.removed, folder.size, _hidden(folder), time.perf_counter() - start
    )


def _build_kind(site: Site, page: Page, folder: Folder) -> None:
    stale: list[Unit] = []
    for unit in page.units(site):
        if folder.fresh(unit.id, unit.key):
            folder.keep(unit.id)
        else:
            stale.append(unit)
    site.redact.take()
    site.hidden = _hidden(folder)
    for unit, pages in _rendered(site, page, stale):
        folder.write(unit.id, unit.key, pages | site.take_attached(), site.redact.take())


def _rendered(site: Site, page: Page, units: list[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
    if units:
        yield from page.render(site, units)


def _hidden(folder: Folder) -> dict[str, int]:
    total: Counter[str] = Counter()
    for entry in folder.new.values():
        total.update(entry.hidden)
    return dict(sorted(total.items()))


def _static(folder: Folder) -> None:
    for f in sorted(files("kbstats.site").joinpath("static").iterdir(), key=lambda f: f.name):
        if f.name.endswith((".css", ".js")):
            path = f"static/{f.name}"
            folder.write(path, None, {path: f.read_text(encoding="utf-8")}, {})
