"""A page a sweep: one call of a harness over many problems, with its board and its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.site.boards import merged
from kbstats.site.pages import Page, Unit
from kbstats.site.pages.front import board_notes, sentence_of, totals
from kbstats.site.pages.models import failure_counts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site


class SweepPage(Page):
    """sweeps/….html."""

    order = 35

    def units(self, site: Site) -> Sequence[Unit]:
        """One a sweep of a suite."""
        return [
            Unit(site.path("sweeps", key), runs, site.key_of_runs(runs))
            for key, runs in sorted(site.groups("sweep_key").items(), key=lambda g: g[0] or "")
            if key
        ]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """What it ran, its board, its runs."""
        for unit in units:
            runs = unit.subject
            key = "\0".join(r["run_id"] for r in runs if r["attempted"])
            found, notes = site.boards_of(key, sweeps=[runs[0]["sweep"]], suites=[runs[0]["suite"]])
            context = {
                "runs": runs,
                "rows": merged(found),
                "notes": board_notes(notes),
                "sentence": sentence_of(runs),
                "totals": totals(runs),
                "failures": failure_counts(site, runs),
                "harnesses": sorted({r["harness"] for r in runs if r["harness"]}),
            }
            yield unit, {unit.id: site.page("sweep.html", unit.id, **context)}


PAGE = SweepPage()
