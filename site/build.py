"""Build the site: walk the page kinds, render what changed, write what differs."""

from __future__ import annotations

import time
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from kbstats.site import workers
from kbstats.site.options import Options
from kbstats.site.output import Folder
from kbstats.site.pages import Page, Unit, registry

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kbstats.site.context import Site


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


def build(db: Path, out: Path, *, force: bool = False, parallel: bool = True, **chosen: Any) -> Report:
    """Build the site of one database into a folder.

    Args:
        db: The database file.
        out: The folder; new, empty, or holding an earlier build.
        force: Write into a folder that holds other files; these are left alone.
        parallel: Use a second process where it saves time.
        chosen: Fields of `Options`: title, redact, base_url, include_db, require_verified, fail_on.

    Raises:
        DatabaseError: the database is missing, locked, or of another version.
        UsageError: the folder holds something else, or options contradict each other.
        KbstatsError: a gate of the publication does not hold.
    """
    from kbstats.analytics import lakes
    from kbstats.analytics.warehouse import open_read
    from kbstats.site import gates
    from kbstats.site.context import Site

    start = time.perf_counter()
    options = Options(db=db, **chosen)
    options.check()
    folder = Folder(out, force=force)
    con = open_read(db, sealed=True)  # read-only alone still reads any file
    try:
        if options.include_db:
            lakes.refuse_alone(con)
        site = Site(con, options, folder)
        gates.check(site)
        nav = tuple((p.nav, p.path) for p in registry() if p.nav)
        site.env.globals["nav"] = nav
        _static(folder)
        with workers.few_collections():
            _build_pages(site, workers.Helper(site, nav) if parallel and workers.worth_it(len(site.runs)) else None)
        if options.base_url:
            _sitemap(folder, options.base_url)
    finally:
        con.close()
    folder.close({"site": site.text(options.title)})
    return Report(
        out, folder.written, folder.unchanged, folder.removed, folder.size, folder.hidden, time.perf_counter() - start
    )


def _build_pages(site: Site, helper: workers.Helper | None) -> None:
    """All kinds in order; those of many pages come late, and a helper begins with them at once."""
    last = registry()[-1]  # it reports on all others
    kinds = [p for p in registry() if p is not last]
    many = {p: p.arranged(site, _stale(site, p)) for p in kinds if p.batch}
    try:
        for page, units in reversed(many.items()):
            if helper is not None and workers.worth_it(len(units) * page.weight):
                helper.begin(page, units)
        for page in [*(p for p in kinds if not p.batch), *many, last]:
            if helper is not None and helper.has(page):
                _take(site, page, many.pop(page), helper)
            else:
                _build(site, page, many.pop(page) if page in many else _stale(site, page))
    finally:
        if helper is not None:
            helper.close()


def _stale(site: Site, page: Page) -> list[Unit]:
    """Units whose pages have to be made; the others are kept."""
    out = []
    for unit in page.units(site):
        if site.folder.fresh(unit.id, unit.key):
            site.folder.keep(unit.id)
        else:
            out.append(unit)
    return out


def _take(site: Site, page: Page, units: Sequence[Unit], helper: workers.Helper) -> None:
    """Units of which a helper renders a share."""
    folder = site.folder
    before = folder.written, folder.unchanged
    done = helper.share(site, page)
    folder.new.update(workers.entries(done, {u.id: u.key for u in units}))
    folder.written = before[0] + sum(d.written for d in done)  # of both processes
    folder.unchanged = before[1] + sum(d.unchanged for d in done)


def _build(site: Site, page: Page, units: Sequence[Unit]) -> None:
    """Units of a kind, one after the other."""
    site.redact.take()
    for unit, pages in _rendered(site, page, units):
        site.folder.write(unit.id, unit.key, {**pages, **site.take_attached()}, site.redact.take())


def _rendered(site: Site, page: Page, units: Sequence[Unit]) -> Iterator[tuple[Unit, Mapping[str, str | Path]]]:
    if units:
        yield from page.render(site, units)


def _sitemap(folder: Folder, base: str) -> None:
    urls = sorted(p for e in folder.new.values() for p in e.files if p.endswith(".html"))
    lines = "".join(f"{base.rstrip('/')}/{u}\n" for u in urls)
    folder.write("sitemap.txt", None, {"sitemap.txt": lines}, {})


def _static(folder: Folder) -> None:
    for f in sorted(files("kbstats.site").joinpath("static").iterdir(), key=lambda f: f.name):
        if f.name.endswith((".css", ".js")):
            path = f"static/{f.name}"
            folder.write(path, None, {path: f.read_text(encoding="utf-8")}, {})
