"""Why runs fail: one bar a class, by owner, with real examples and the words that decided."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kbstats.site.pages import SinglePage
from kbstats.site.read import grouped
from kbstats.site.redact import spaced
from kbstats.site.words import OUTCOMES

if TYPE_CHECKING:
    from kbstats.site.context import Site

OWNERS = ("model", "suite", "harness", "infrastructure", "provider")
"""Whose failure it is, in page order; what the data names besides comes last."""

EXAMPLES = 3


def _examples(rows: list[dict[str, Any]], site: Site) -> list[dict[str, Any]]:
    """A few failing results of different models and runs, in a fixed order."""
    out: list[dict[str, Any]] = []
    models: set[str] = set()
    for fresh in (True, False):
        for f in rows:
            run = site.by_id.get(f["run_id"])
            if run is None or len(out) == EXAMPLES or any(x["run"] is run for x in out):
                continue
            if fresh and run["model_key"] in models:
                continue
            models.add(run["model_key"])
            out.append({"run": run, "turn": f.get("turn"), "evidence": f.get("evidence")})
    return out


def taxonomy(site: Site) -> list[dict[str, Any]]:
    """Every class that occurs: counts of runs and of failing tool results, owner, examples."""
    ended = grouped([r for r in site.runs if r["outcome"] not in ("correct", None) and r["attempted"]], "failure_class")
    tools = grouped(site.tool_failures, "failure_class")
    rows = []
    for name in sorted({*ended, *tools} - {None}):
        about = site.classes.get(name, {})
        runs, calls = ended.get(name, []), tools.get(name, [])
        rows.append(
            {
                "class": name,
                "title": about.get("title") or spaced(name),
                "owner": about.get("owner") or next((f["owner"] for f in calls if f["owner"]), None) or "unknown",
                "meaning": about.get("meaning"),
                "advice": about.get("advice"),
                "runs": len(runs),
                "calls": len(calls),
                "models": Counter(r["model_key"] for r in runs).most_common(),
                "examples": _examples([*runs, *calls], site),
            }
        )
    order = {o: i for i, o in enumerate(OWNERS)}
    rows.sort(key=lambda r: (order.get(r["owner"], 9), r["owner"], -r["runs"], -r["calls"], r["class"]))
    return rows


class FailuresPage(SinglePage):
    """failures.html."""

    order = 70
    nav = "Failures"
    path = "failures.html"
    template = "failures.html"

    def context(self, site: Site) -> dict[str, Any]:
        """Outcomes, the taxonomy by owner, the chart."""
        from kbstats.site import charts

        rows = taxonomy(site)
        runs = [r for r in site.runs if r["attempted"]]
        outcomes = Counter(r["outcome"] for r in runs)
        models = sorted({r["model_key"] for r in runs})
        per_model = Counter((r["model_key"], r["outcome"]) for r in runs)
        kinds = [o for o in OUTCOMES if outcomes[o]]
        titles = Counter(r["title"] for r in rows if r["runs"])
        bars = [
            (site.label(r["title"] if titles[r["title"]] == 1 else r["class"]), site.label(r["owner"]), r["runs"])
            for r in rows
            if r["runs"]
        ]
        owners = Counter({o: sum(r["runs"] for r in rows if r["owner"] == o) for o in {r["owner"] for r in rows}})
        return {
            "rows": rows,
            "owners": list(dict.fromkeys(r["owner"] for r in rows)),
            "owner_runs": owners,
            "not_model": sum(n for o, n in owners.items() if o not in ("model", "unknown")),
            "failed": sum(n for o, n in outcomes.items() if o != "correct"),
            "outcomes": outcomes,
            "kinds": kinds,
            "table": [(m, [per_model[m, o] for o in kinds]) for m in models],
            "chart": charts.bars(
                bars, "Runs by failure class, one bar a class, grouped by whose failure it is.", "runs"
            )
            if bars
            else None,
            "conflicts": [r for r in runs if r["label_conflict"]],
        }


PAGE = FailuresPage()
