"""A page a model: its figures at each level of trust, what it claims, why it fails, every run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kbstats.site import fmt
from kbstats.site.pages import Page, Unit
from kbstats.site.pages.front import bins, scope, speedup_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site


def failure_counts(site: Site, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Failure classes of runs that are not correct, most frequent first."""
    n = Counter(r["failure_class"] or "unclassified" for r in runs if r["outcome"] not in ("correct", None))
    return [
        {
            "class": c,
            "n": k,
            "title": (site.classes.get(c) or {}).get("title", ""),
            "owner": (site.classes.get(c) or {}).get("owner"),
        }
        for c, k in sorted(n.items(), key=lambda x: (-x[1], x[0]))
    ]


class ModelPage(Page):
    """models/….html."""

    order = 30

    def units(self, site: Site) -> Sequence[Unit]:
        """One a model."""
        return [
            Unit(site.path("models", key), (key, runs), site.state)
            for key, runs in sorted(site.groups("model_key").items())
        ]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Figures, chart, failures, runs."""
        from kbstats.site import charts

        for unit in units:
            key, runs = unit.subject
            points = sorted(speedup_rows(runs), key=lambda p: p[1])
            label = f"Histogram of {fmt.plural(len(points), 'claimed speedup')} on a log axis."
            context = {
                "key": key,
                "runs": runs,
                "boards": {t: next((b for b in rows if b["model"] == key), None) for t, rows in site.boards.items()},
                "chart": charts.speedups([("", s, k) for _, s, k in points], label) if points else None,
                "bins": bins(points),
                "failures": failure_counts(site, runs),
                "scope": scope(runs),
                "names": sorted({r["model_raw"] for r in runs if r["model_raw"] and r["model_raw"] != key}),
            }
            yield unit, {unit.id: site.page("model.html", unit.id, **context)}


PAGE = ModelPage()
