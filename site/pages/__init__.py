"""Page kinds. One module each, found by looking into this folder: a new module is a new kind.

A module has `PAGE`, an object of a subclass of `Page`. Kinds are built in the order of `order`; those
with a `nav` label stand in the head of every page. See docs/site.md for the steps of adding one.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import pkgutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from kbstats.site.context import Site


@dataclass(frozen=True)
class Unit:
    """What is built, or skipped, as a whole: a page with the parts that belong to it.

    Attributes:
        id: Stable name in the manifest.
        subject: Whatever the page kind needs to render it.
        key: A hash of everything it depends on; None: render it in each build.
    """

    id: str
    subject: Any = None
    key: str | None = None


class Page:
    """A page kind."""

    order: int = 0
    nav: str = ""
    """Label in the head of every page; empty: not there."""
    path: str = ""
    """The file, of kinds that are a single page."""
    batch: int = 0
    """Units that are rendered together, of kinds that two processes may share; 0: one process does them."""

    weight: int = 1
    """What a unit costs, in run pages."""

    def units(self, site: Site) -> Sequence[Unit]:
        """The pages of this kind that this database has."""
        return [Unit(self.path, key=site.state)]

    def arranged(self, site: Site, units: Sequence[Unit]) -> Sequence[Unit]:
        """Units in the order in which reading them is cheapest."""
        del site
        return units

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, Mapping[str, str | Path]]]:
        """Render some of them: each unit with its files, path to content."""
        raise NotImplementedError  # each page kind renders itself


class SinglePage(Page):
    """A page kind with one page: a template and what goes into it."""

    template: str = ""

    def context(self, site: Site) -> dict[str, Any]:
        """What the template is given."""
        raise NotImplementedError  # each single page has its own context

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, Mapping[str, str | Path]]]:
        """Render the page."""
        for unit in units:
            yield unit, {self.path: site.page(self.template, self.path, **self.context(site))}


@functools.cache
def registry() -> tuple[Page, ...]:
    """All page kinds, in order."""
    names = sorted(m.name for m in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{n}") for n in names]
    return tuple(sorted((m.PAGE for m in modules if hasattr(m, "PAGE")), key=lambda p: (p.order, p.path)))


def key_of(*parts: Any) -> str:
    """A hash over whatever a unit depends on."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
