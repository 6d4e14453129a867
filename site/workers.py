"""A second process for the kinds of pages that are many: it renders and writes batches beside the main one.

It is spawned, never forked, opens the database read-only for itself, and gives back hashes alone.
"""

from __future__ import annotations

import gc
import os
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from kbstats.site.context import Site
    from kbstats.site.options import Options
    from kbstats.site.pages import Page, Unit

LEAST = 96
"""Units from which a second process saves more than it costs to start."""


class Done(NamedTuple):
    """A unit that was written: its files with their hashes, what was hidden, and how many files changed."""

    unit: str
    files: dict[str, str]
    hidden: dict[str, int]
    written: int
    unchanged: int


@contextmanager
def few_collections() -> Iterator[None]:
    """Pages are made of many short-lived objects without cycles: looking for cycles would cost a tenth of a build."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def worth_it(units: int) -> bool:
    """Whether there are enough units, and a second core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return units >= LEAST and cores > 1


def render(site: Site, page: Page, units: Sequence[Unit]) -> list[Done]:
    """Render units and write their files through the site's folder."""
    out = []
    site.redact.take()
    for unit, files in page.render(site, units):
        before = site.folder.written, site.folder.unchanged
        hidden = site.redact.take()
        hashes = site.folder.put({**files, **site.take_attached()})
        written, unchanged = site.folder.written - before[0], site.folder.unchanged - before[1]
        out.append(Done(unit.id, hashes, hidden, written, unchanged))
    return out


_SITE: list[Site] = []
_UNITS: dict[str, dict[str, Unit]] = {}


def _start(options: Options, out: Path, nav: tuple[tuple[str, str], ...], empty: bool, names: list[str]) -> None:
    from kbstats.analytics.warehouse import open_read
    from kbstats.site.context import Site
    from kbstats.site.output import Folder

    site = Site(open_read(options.db, sealed=True), options, Folder(out, force=True, empty=empty), names)
    site.run_states = {}  # they make keys, and what is stale the main process has found out
    site.env.globals["nav"] = nav
    gc.freeze()
    gc.set_threshold(100_000, 50, 100)
    _SITE.append(site)


def _batch(kind: str, ids: Sequence[str]) -> list[Done]:
    from kbstats.site.pages import registry

    (site,) = _SITE
    page = next(p for p in registry() if type(p).__name__ == kind)
    if kind not in _UNITS:
        _UNITS[kind] = {u.id: u for u in page.units(site)}
    return render(site, page, [_UNITS[kind][i] for i in ids])


class Helper:
    """The second process; it starts with the first batch it is given."""

    def __init__(self, site: Site, nav: tuple[tuple[str, str], ...]) -> None:
        self._pool = ProcessPoolExecutor(
            1,
            mp_context=get_context("spawn"),
            initializer=_start,
            initargs=(site.options, site.folder.root, nav, site.folder.empty, site.names),
        )
        self._given: dict[Page, list[tuple[Sequence[Unit], Future[list[Done]]]]] = {}

    def begin(self, page: Page, units: Sequence[Unit]) -> None:
        """Give it all batches of a kind: it renders them while the main process does other kinds."""
        self._given[page] = [
            (batch, self._pool.submit(_batch, type(page).__name__, [u.id for u in batch]))
            for batch in (units[i : i + page.batch] for i in range(0, len(units), page.batch))
        ]

    def has(self, page: Page) -> bool:
        """Whether it was given a kind's units."""
        return page in self._given

    def share(self, site: Site, page: Page) -> list[Done]:
        """Render the units of a kind that were given to it, here too: from the end what it has not begun."""
        given = self._given.pop(page)
        out: list[Done] = []
        while given:
            batch, theirs = given.pop()
            if theirs.cancel():
                out += render(site, page, batch)
            else:
                out += theirs.result()
        return out

    def close(self) -> None:
        """End it."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def entries(done: Sequence[Done], keys: dict[str, str | None]) -> dict[str, Any]:
    """Manifest entries of what was written."""
    from kbstats.site.output import Entry

    return {d.unit: Entry(keys[d.unit], d.files, d.hidden) for d in done}
