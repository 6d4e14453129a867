"""A page a problem: its reference, and every run of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.site.pages import Page, Unit, key_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site


class ProblemPage(Page):
    """problems/….html."""

    order = 40

    def units(self, site: Site) -> Sequence[Unit]:
        """One a problem that somebody attempted."""
        return [
            Unit(site.path("problems", key), runs, key_of(site.digest, runs, site.reference_of(runs[0])))
            for key, runs in site.groups("problem_key").items()
        ]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Runs and reference."""
        for unit in units:
            runs = unit.subject
            best = sorted(
                runs,
                key=lambda r: (
                    not r["counts"]["audited_fast"],
                    not r["counts"]["claimed"],
                    -(r["speedup"] or 0),
                    r["run_id"],
                ),
            )
            yield (
                unit,
                {
                    unit.id: site.page(
                        "problem.html", unit.id, runs=best, r=runs[0], reference=site.reference_of(runs[0])
                    )
                },
            )


PAGE = ProblemPage()
