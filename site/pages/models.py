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


HEAT = (
    ("h0", "failed", "did not end correct"),
    ("h1", "≤ 1×", "right and not faster, as claimed"),
    ("h2", "1 to 2×", "claimed speedup"),
    ("h3", "2 to 10×", "claimed speedup"),
    ("h4", "> 10×", "claimed speedup"),
    ("h5", "no speedup", "claimed correct, without a speedup"),
)
"""Shades of the problem heat map: class, label, meaning."""


def shade(run: dict[str, Any]) -> str:
    """The shade of one run's cell."""
    if not run["counts"]["claimed"]:
        return "h0"
    s = run["speedup"]
    return "h5" if s is None else "h1" if s <= 1 else "h2" if s <= 2 else "h3" if s <= 10 else "h4"


def heat(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows by problem, columns by what else tells the model's runs apart: sweep or mode."""
    columns = sorted({column(r) for r in runs})
    if len(columns) > 12:
        return []
    rows: dict[str, dict[str, Any]] = {}
    for r in runs:
        row = rows.setdefault(r["problem_key"], {"run": r, "cells": {}})
        best = row["cells"].get(column(r))
        if best is None or _worth(r) > _worth(best):
            row["cells"][column(r)] = r
    return [
        {"run": row["run"], "cells": [(shade(c), c) if (c := row["cells"].get(x)) else None for x in columns]}
        for row in rows.values()
    ]


def column(run: dict[str, Any]) -> str:
    """What tells a model's runs of one problem apart."""
    return f"{run['sweep'] or ''}{' · ' + run['mode'] if run['mode'] else ''}"


def _worth(r: dict[str, Any]) -> tuple[Any, ...]:
    return (r["counts"]["verified"], r["counts"]["audited"], r["counts"]["claimed"], r["speedup"] or 0.0)


def best_kernels(runs: list[dict[str, Any]], most: int = 5) -> list[dict[str, Any]]:
    """Runs with the best speedups that are still counted: verified ones first."""
    kept = [r for r in runs if r["counts"]["audited_fast"] and r["submitted_kernel_sha256"]]
    return sorted(kept, key=lambda r: (not r["counts"]["verified"], -(r["speedup"] or 0), r["run_id"]))[:most]


def anytime(site: Site, runs: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Share of runs with turns that had a compiling, or a right, kernel by each turn; and how many such runs."""
    first: dict[str, list[int]] = {"compiles": [], "right": []}
    n = 0
    most = 0
    for r in runs:
        states = site.turn_states.get(r["run_id"])
        if not states:
            continue
        n += 1
        most = max(most, *(t for t, _ in states))
        for what, good in (("compiles", ("compiles", "right", "faster", "wrong")), ("right", ("right", "faster"))):
            hit = next((t for t, s in states if s in good), None)
            if hit is not None:
                first[what].append(hit)
    if n < 3:
        return [], n
    return [
        {"turn": t + 1, "what": what, "share": sum(x <= t for x in hits) / n}
        for what, hits in first.items()
        for t in range(min(most, 60) + 1)
    ], n


class ModelPage(Page):
    """models/….html."""

    order = 30

    def units(self, site: Site) -> Sequence[Unit]:
        """One a model."""
        return [
            Unit(
                site.path("models", key),
                (key, runs),
                site.key_of_runs(runs, site.all_runs, [site.turn_states.get(r["run_id"]) for r in runs]),
            )
            for key, runs in sorted(site.groups("model_key").items())
        ]

    @staticmethod
    def rows(site: Site, key: str) -> dict[str, dict[str, Any] | None]:
        """The model's row of the board at each level of trust."""
        return {t: next((b for b in rows if b["model"] == key), None) for t, rows in site.boards.items()}

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Figures, chart, failures, runs."""
        from kbstats.site import charts

        for unit in units:
            key, runs = unit.subject
            points = sorted(speedup_rows(runs), key=lambda p: p[1])
            curve, curve_n = anytime(site, runs)
            label = f"Histogram of {fmt.plural(len(points), 'claimed speedup')} on a log axis."
            context = {
                "key": key,
                "runs": runs,
                "boards": self.rows(site, key),
                "chart": charts.speedups([("", s, k) for _, s, k in points], label) if points else None,
                "bins": bins(points),
                "failures": failure_counts(site, runs),
                "scope": scope(runs),
                "heat": heat(runs),
                "heat_columns": sorted({column(r) for r in runs}),
                "shades": HEAT,
                "best": best_kernels(runs),
                "curve": curve,
                "curve_n": curve_n,
                "curve_chart": charts.anytime(
                    curve, f"Share of {curve_n} runs that had a compiling and a right kernel by each turn."
                )
                if curve
                else None,
                "names": sorted({r["model_raw"] for r in runs if r["model_raw"] and r["model_raw"] != key}),
            }
            yield unit, {unit.id: site.page("model.html", unit.id, **context)}


PAGE = ModelPage()
