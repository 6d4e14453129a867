"""The front page: what was run, how much of it is verified, and the board with trust as columns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kbstats.site import boards, fmt
from kbstats.site.boards import merged
from kbstats.site.pages import SinglePage

if TYPE_CHECKING:
    from kbstats.site.context import Site


def distinct(runs: list[dict[str, Any]], key: str) -> list[Any]:
    """Distinct known values of a column, sorted."""
    return sorted({r[key] for r in runs if r[key] is not None})


def sentence_of(runs: list[dict[str, Any]]) -> str:
    """What was run, when, on which GPUs."""
    if not runs:
        return "No runs yet."
    days = [d for r in runs for d in (r["started_at"], r["finished_at"]) if d is not None]
    text = (
        f"{fmt.plural(len(runs), 'run')} of {fmt.plural(len({r['model_key'] for r in runs}), 'model')} on "
        f"{fmt.plural(len({r['problem_key'] for r in runs}), 'problem')}"
    )
    if days:
        first, last = fmt.day(min(days)), fmt.day(max(days))
        text += f", {first}" if first == last else f", {first} to {last}"
    gpus = distinct(runs, "hardware")
    if gpus:
        text += ", on " + ", ".join(gpus[:4]) + (" and others" if len(gpus) > 4 else "")
    return text + "."


def scope(runs: list[dict[str, Any]]) -> str:
    """Which levels and suites a table holds, in words."""
    levels, suites = distinct(runs, "level"), distinct(runs, "suite")
    text = ("Level " if len(levels) == 1 else "Levels ") + ", ".join(str(v) for v in levels) if levels else ""
    return f"{text} of {', '.join(suites)}." if text else ""


def board_notes(notes: list[str]) -> list[str]:
    """A board's notes without the command line's options, and without the one that says nothing is verified."""
    return [n.split(": --")[0].replace("`", "") for n in notes if not n.startswith("verified on no ")]


def totals(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """How much a table of runs holds, and what of it counts at each level of trust."""
    return {
        "problems": len({r["problem_key"] for r in runs}),
        "models": len({r["model_key"] for r in runs}),
        "runs": len(runs),
        **{t: sum(r["counts"][t] for r in runs) for t in ("claimed", "audited", "verified")},
    }


def pareto(site: Site, rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Cost a run against the audited share of right and faster runs, where sources tell a cost of two models."""
    from kbstats.site import charts

    audited = [m["audited"] for m in rows if m["audited"] and m["audited"]["n"]]
    unit = "US dollars" if sum(r["cost_usd"] is not None for r in audited) >= 2 else "tokens"
    column = "cost_usd" if unit == "US dollars" else "total_tokens"
    points = [{"model": r["model"], "cost": r[column] / r["n"], "score": r["fast_1"]} for r in audited if r[column]]
    if len(points) < 2:
        return None
    points.sort(key=lambda p: (p["cost"], -p["score"], p["model"]))
    best = -1.0
    for p in points:
        p["front"] = p["score"] > best
        best = max(best, p["score"])
    front = ", ".join(p["model"] for p in points if p["front"])
    words = (
        f"{unit[0].upper()}{unit[1:]} a run against the share of runs right and faster after the audit. "
        f"Nobody is both cheaper and better than: {front}."
    )
    shown = [{**p, "model": site.label(p["model"])} for p in points]
    return {
        "rows": points,
        "unit": unit,
        "words": words,
        "chart": charts.pareto(shown, f"{unit} a run", site.text(words)),
    }


def bins(rows: list[tuple[str, float, bool]]) -> list[dict[str, Any]]:
    """The chart's numbers, coarser: by model."""
    out = []
    for model in dict.fromkeys(r[0] for r in rows):
        values = [(s, k) for m, s, k in rows if m == model]
        out.append(
            {
                "model": model,
                "n": len(values),
                "le1": sum(s <= 1 for s, _ in values),
                "le10": sum(1 < s <= 10 for s, _ in values),
                "le100": sum(10 < s <= 100 for s, _ in values),
                "more": sum(s > 100 for s, _ in values),
                "withdrawn": sum(not k for _, k in values),
            }
        )
    return out


def speedup_rows(runs: list[dict[str, Any]]) -> list[tuple[str, float, bool]]:
    """(model, claimed speedup, still counted after the audit) of runs claimed correct."""
    return [
        (r["model_key"], r["speedup"], r["counts"]["audited_fast"])
        for r in runs
        if r["counts"]["claimed"] and r["speedup"] is not None and r["speedup"] > 0
    ]


class FrontPage(SinglePage):
    """index.html."""

    order = 10
    nav = "Board"
    path = "index.html"
    template = "front.html"

    def context(self, site: Site) -> dict[str, Any]:
        """Figures, the board, the distribution of claims, the levels."""
        from kbstats.site import charts
        from kbstats.site.pages.boards import offer

        runs = site.runs
        n = {t: sum(r["counts"][t] for r in runs) for t in ("claimed", "audited", "verified")}
        rows = merged(site.boards)
        order = {m["model"]: i for i, m in enumerate(rows)}
        points = sorted(speedup_rows(runs), key=lambda p: (order.get(p[0], 0), p[1]))
        over = sum(s > 100 for _, s, _ in points)
        words = f"{over} of {len(points)} are over 100×." if over else f"{len(points)} in all."
        levels = []
        for key, group in site.groups("level_key").items():
            levels.append(
                {
                    "key": key,
                    "suite": group[0]["suite"],
                    "level": group[0]["level"],
                    **totals(group),
                }
            )
        slow = sum(
            r["counts"]["audited"] and r["speedup"] is not None and not r["counts"]["audited_fast"] for r in runs
        )
        infra = sum(1 for r in runs if r["owner"] in ("infrastructure", "harness", "provider"))
        return {
            "sentence": sentence_of(runs),
            "offer": json.dumps(offer(site), ensure_ascii=False, separators=(",", ":")),
            "all_words": boards.sentence((), rows, runs),
            "tail": boards.sentence((), rows, runs).partition(": ")[2],
            "pareto": pareto(site, rows),
            "sweeps": [
                {"key": key, "name": group[0]["sweep"], **totals(group)}
                for key, group in sorted(site.groups("sweep_key").items(), key=lambda g: g[0] or "")
                if key
            ],
            "notes": board_notes(site.board_notes),
            "figures": [
                {"tone": "claimed", "n": n["claimed"], "words": "claimed correct", "href": "#models"},
                {
                    "tone": "plain",
                    "n": n["audited"],
                    "words": "left after the audit" + (f", {slow} without their speedup" if slow else ""),
                    "href": "audit.html",
                },
                {"tone": "verified", "n": n["verified"], "words": "re-run and right", "href": "verification.html"},
            ],
            "share": n["verified"] / n["claimed"] if n["claimed"] else 0.0,
            "rows": rows,
            "points": points,
            "bins": bins(points),
            "chart": charts.speedups(
                [(site.label(m), s, k) for m, s, k in points],
                f"Histogram of claimed speedups by model on a log axis. {words}",
            )
            if points
            else None,
            "chart_words": words,
            "levels": levels,
            "failures_words": f"{fmt.plural(infra, 'run')} failed for a reason that is not the model's."
            if infra
            else "",
        }


PAGE = FrontPage()
