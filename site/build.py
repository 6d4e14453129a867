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
    from collections.abc import Iterator, Mapping
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
            _build_pages(
                site, workers.Helper(options, folder, nav) if parallel and workers.worth_it(len(site.runs)) else None
            )
        if options.base_url:
            _sitemap(folder, options.base_url)
    finally:
        con.close()
    folder.close({"site": site.text(options.title)})
    return Report(
        out, folder.written, folder.unchanged, folder.removed, folder.size, folder.hidden, time.perf_counter() - start
    )


def _build_pages(site: Site, helper: workers.Helper | None) -> None:
    """All kinds in order. A helper's kinds come when it has started, which it does meanwhile."""
    try:
        if helper is not None and not site.folder.old:  # nothing to keep: there will be work for two
            helper.warm(next(p for p in registry() if p.batch))
        late = [p for p in registry() if p.batch]
        last = registry()[-1]  # it reports on all others
        for page in [*(p for p in registry() if not p.batch and p is not last), *late, last]:
            _build_kind(site, page, site.folder, helper)
    finally:
        if helper is not None:
            helper.close()


def _build_kind(site: Site, page: Page, folder: Folder, helper: workers.Helper | None) -> None:
    stale: list[Unit] = []
    for unit in page.units(site):
        if folder.fresh(unit.id, unit.key):
            folder.keep(unit.id)
        else:
            stale.append(unit)
    if helper is not None and page.batch and workers.worth_it(len(stale) * page.weight):
        before = folder.written, folder.unchanged
        done = helper.share(site, page, page.arranged(site, stale), page.batch)
        folder.new.update(workers.entries(done, {u.id: u.key for u in stale}))
        folder.written = before[0] + sum(d.written for d in done)  # of both processes
        folder.unchanged = before[1] + sum(d.unchanged for d in done)
        return
    site.redact.take()
    for unit, pages in _rendered(site, page, stale):
        folder.write(unit.id, unit.key, {**pages, **site.take_attached()}, site.redact.take())


def _rendered(site: Site, page: Page, units: list[Unit]) -> Iterator[tuple[Unit, Mapping[str, str | Path]]]:
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
