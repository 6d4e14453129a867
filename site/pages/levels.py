"""A page a level: its board, and every problem against every model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.site.boards import merged
from kbstats.site.pages import Page, Unit
from kbstats.site.pages.front import board_notes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kbstats.site.context import Site


def matrix(runs: list[dict[str, Any]], models: list[str]) -> list[dict[str, Any]]:
    """One record a problem: its best run by each model, best first by what still counts."""
    problems: dict[str, dict[str, Any]] = {}
    for r in runs:
        p = problems.setdefault(r["problem_key"], {"run": r, "cells": {}, "n": 0})
        p["n"] += 1
        best = p["cells"].get(r["model_key"])
        if best is None or _worth(r) > _worth(best["run"]):
            p["cells"][r["model_key"]] = {"run": r, "n": (best["n"] if best else 0) + 1}
        else:
            best["n"] += 1
    return [{**p, "cells": [p["cells"].get(m) for m in models]} for p in problems.values()]


def _worth(r: dict[str, Any]) -> tuple[Any, ...]:
    c = r["counts"]
    return (c["verified"], c["audited"], c["audited_fast"], c["claimed"], r["speedup"] or 0.0)


class LevelPage(Page):
    """levels/….html."""

    order = 20

    def units(self, site: Site) -> Sequence[Unit]:
        """One a level of a suite."""
        return [
            Unit(site.path("levels", key), (key, runs), site.key_of_runs(runs))
            for key, runs in site.groups("level_key").items()
        ]

    def render(self, site: Site, units: Sequence[Unit]) -> Iterator[tuple[Unit, dict[str, str]]]:
        """Board and matrix."""
        for unit in units:
            _, runs = unit.subject
            rows: list[dict[str, Any]] = []
            notes: list[str] = []
            if runs[0]["level"] is not None:
                key = "\0".join(r["run_id"] for r in runs if r["attempted"])
                boards, notes = site.boards_of(key, levels=[runs[0]["level"]], suites=[runs[0]["suite"]])
                rows = merged(boards)
            models = [m["model"] for m in rows] or sorted({r["model_key"] for r in runs})
            context = {
                "runs": runs,
                "rows": rows,
                "models": models,
                "matrix": matrix(runs, models),
                "notes": board_notes(notes),
            }
            yield unit, {unit.id: site.page("level.html", unit.id, **context)}


PAGE = LevelPage()
