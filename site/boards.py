"""The boards as `analytics.leaderboards` ranks them: one place decides, and it is not here.

A filter of the front page is not a computation of the browser's: each selection of values that takes
other runs has a board of its own, computed when the site is built and kept in a small file.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kbstats.site import fmt
from kbstats.site.redact import capital

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

LEVELS = ("claimed", "audited", "verified")

DIMENSIONS = (
    ("level", "levels"),
    ("suite", "suites"),
    ("variant", "variants"),
    ("mode", "modes"),
    ("hardware", "hardwares"),
)
"""What the front page filters by: the key of a run (`value_of`), and the field of `leaderboards.Filters`."""

MOST = 40
"""Boards that are computed, those of few filters first: each costs a few dozen milliseconds."""
MOST_VALUES = 24
"""Values of one dimension that get a chip."""


def model_boards(con: duckdb.DuckDBPyConnection, **filters: Any) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """The model board at each level of trust, and what a reader must know before reading it.

    Args:
        con: The database.
        filters: Fields of `leaderboards.Filters`.
    """
    from kbstats.analytics import leaderboards

    found = {t: leaderboards.board(con, leaderboards.Filters(trust=t, **filters)) for t in LEVELS}
    notes = list(dict.fromkeys(n for b in found.values() for n in b.notes))
    return {t: b.rows for t, b in found.items()}, notes


def merged(boards: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One record a model in the claimed board's order: its rows at all three levels, and its place in each.

    Returns:
        `{"model": …, "claimed": row, "audited": row or None, "verified": row or None, "places": …}` each.
    """
    by = {trust: {r["model"]: r for r in rows} for trust, rows in boards.items()}
    places = {trust: {r["model"]: i for i, r in enumerate(rows)} for trust, rows in boards.items()}
    order = list(dict.fromkeys(r["model"] for r in boards["claimed"]))
    last = len(order)
    return [
        {"model": m, **{t: by[t].get(m) for t in LEVELS}, "places": {t: places[t].get(m, last) for t in LEVELS}}
        for m in order
    ]


def value_of(run: dict[str, Any], dimension: str) -> Any:
    """A run's value of a dimension, as the filters of the boards compare it."""
    if dimension == "variant":
        return run["variant_key"]
    return run["gpu"] if dimension == "hardware" else run[dimension]


@dataclass(frozen=True)
class Selection:
    """Values chosen, and the runs they take.

    Attributes:
        chosen: (dimension, value) in the order of `DIMENSIONS`.
        runs: The runs.
    """

    chosen: tuple[tuple[str, Any], ...]
    runs: tuple[dict[str, Any], ...]

    @property
    def filters(self) -> dict[str, list[Any]]:
        """As `leaderboards.Filters` takes them."""
        fields = dict(DIMENSIONS)
        return {fields[d]: [v] for d, v in self.chosen}

    @property
    def key(self) -> str:
        """Which board this is: selections of the same runs share one."""
        return "\0".join(r["run_id"] for r in self.runs)


def choices(runs: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    """Values of each dimension that has several."""
    out = {}
    for dimension, _ in DIMENSIONS:
        values = sorted({v for r in runs if (v := value_of(r, dimension)) is not None}, key=lambda v: (str(type(v)), v))
        if 2 <= len(values) <= MOST_VALUES:
            out[dimension] = values
    return out


def selections(runs: Sequence[dict[str, Any]]) -> list[Selection]:
    """Every selection of one value a dimension that takes some runs, few filters first, up to `MOST` boards."""
    attempted = [r for r in runs if r["attempted"]]
    options = choices(attempted)
    combos: list[tuple[tuple[str, Any], ...]] = []
    for n in range(1, len(options) + 1):
        for names in itertools.combinations(options, n):
            combos += [
                tuple(zip(names, values, strict=True)) for values in itertools.product(*(options[d] for d in names))
            ]
            if len(combos) > 5_000:
                break
    seen: set[str] = set()
    out = []
    for chosen in combos:
        taken = tuple(r for r in attempted if all(value_of(r, d) == v for d, v in chosen))
        if not taken:
            continue
        found = Selection(chosen, taken)
        if found.key not in seen:
            if len(seen) >= MOST:
                continue
            seen.add(found.key)
        out.append(found)
    return out


def sentence(
    selection: Sequence[tuple[str, Any]], rows: Sequence[dict[str, Any]], runs: Sequence[dict[str, Any]]
) -> str:
    """A selection in words, with what it leaves: problems, models, and whether they ran the same."""
    said = {"level": "level {}", "suite": "{}", "variant": "variant {}", "mode": "mode {}", "hardware": "on {}"}
    words = ", ".join(said[d].format(v) for d, v in selection) or "all runs"
    problems = {r["problem_key"] for r in runs if r["attempted"]}
    each = {
        m: {r["problem_key"] for r in runs if r["attempted"] and r["model_key"] == m}
        for m in {r["model_key"] for r in runs if r["attempted"]}
    }
    text = f"{capital(words)}: {fmt.plural(sum(r['attempted'] for r in runs), 'run')}, "
    text += f"{fmt.plural(len(problems), 'problem')}, {fmt.plural(len(rows), 'model')}"
    if len(each) > 1:
        shared = set.intersection(*each.values())
        same = all(p == problems for p in each.values())
        text += " on the same problems" if same else f" that share {fmt.plural(len(shared), 'problem')}"
    return text + "."
