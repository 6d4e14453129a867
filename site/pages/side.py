"""Two runs side by side: one page that loads the data of the runs named behind `#`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.site.pages import SinglePage, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kbstats.site.context import Site


class SidePage(SinglePage):
    """side.html."""

    order = 110
    path = "side.html"
    template = "side.html"

    def units(self, site: Site) -> Sequence[Unit]:
        """The page, which holds no data."""
        return [Unit(self.path, key=f"{site.digest}{site.newest}")]

    def context(self, site: Site) -> dict[str, Any]:
        """Nothing."""
        del site
        return {}


PAGE = SidePage()
