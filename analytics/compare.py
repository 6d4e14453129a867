"""Two models, modes or sweeps against each other on the problems that both ran."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kbstats.analytics import board_notes, leaderboards, offers, stats
from kbstats.analytics.output import rows_of
from kbstats.ingest.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

SIDES = ("model", "mode", "sweep")
"""What can be compared."""

_CELLS = """
select
    case $side::varchar when 'model' then model when 'mode' then mode else sweep end as name,
    model_raw,
    problem_key,
    -- What must agree in a pair beside the problem.
    coalesce(sample_id, 0) as sample,
    if($side::varchar = 'model', null, model) as model,
    if($side::varchar = 'model', mode, null) as mode,
    gpu_key(hardware) as gpu,
    coalesce(lower(precision), 'fp32') as precision,
    level,
    problem_id,
    problem_name,
    sample_id,
    counts_correct,
    if(speedup > 0, speedup, null) as speedup,
    noise_band,
    outcome,
    failure_class,
    run_id
from board_runs
where counted
order by run_id
"""
_AGREE = {"sample": "sample", "model": "model", "mode": "mode", "gpu": "GPU model", "precision": "precision"}
"""What the two runs of a pair have in common beside their problem, and its word."""

Key = tuple[Any, ...]
"""A pair: the problem, then the values of `_AGREE`."""


@dataclass
class Cell:
    """What one side has at one pair."""

    where: dict[str, Any]
    correct: float
    speedup: float | None
    noise: float
    failure_class: str | None
    run_id: str


def _cell(rows: list[dict[str, Any]]) -> Cell:
    speeds = [r["speedup"] for r in rows if r["speedup"] is not None]
    why = [r["failure_class"] or r["outcome"] for r in rows if not r["counts_correct"]]
    return Cell(
        where={k: rows[0][k] for k in ("problem_key", "level", "problem_id", "problem_name", "sample_id")},
        correct=sum(bool(r["counts_correct"]) for r in rows) / len(rows),
        speedup=stats.geomean(speeds),
        noise=max(r["noise_band"] for r in rows),
        failure_class=why[0] if why else None,
        run_id=rows[0]["run_id"],
    )


def _is_of(r: dict[str, Any], side: str, name: str) -> bool:
    """Whether a run is of this side; a model goes by its alias and by what its source calls it."""
    return bool(r["name"] == name or (side == "model" and r["model_raw"] == name))


def _side(rows: list[dict[str, Any]], side: str, name: str) -> dict[Key, Cell]:
    """One cell a pair: of several runs their share of correct ones and the geometric mean of their speedups."""
    cells: dict[Key, list[dict[str, Any]]] = {}
    for r in rows:
        if _is_of(r, side, name):
            cells.setdefault((r["problem_key"], *(r[k] for k in _AGREE)), []).append(r)
    return {key: _cell(found) for key, found in cells.items()}


def judge(a: Cell, b: Cell) -> str:
    """`win`, `tie` or `loss` of `a`.

    Being right comes first. Of two right ones the faster wins, where the ratio of their speedups lies
    outside the noise of both; without two timings they tie.
    """
    if a.correct != b.correct:
        return "win" if a.correct > b.correct else "loss"
    if a.speedup is None or b.speedup is None:
        return "tie"
    band = math.log1p(math.hypot(a.noise, b.noise))
    gap = math.log(a.speedup / b.speedup)
    return "tie" if abs(gap) <= band else "win" if gap > 0 else "loss"


def sign_test(wins: int, losses: int) -> float | None:
    """Two-sided exact sign test: the chance of a split at least as uneven were both equally good."""
    if wins + losses == 0:
        return None
    # scipy.stats has the test by name, and takes a second to import: at p = 1/2 it is twice the smaller tail.
    from scipy.special import bdtr

    return min(1.0, 2.0 * float(bdtr(min(wins, losses), wins + losses, 0.5)))


def _tally(pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {
        "pairs": len(pairs),
        "wins": sum(p["result"] == "win" for p in pairs),
        "ties": sum(p["result"] == "tie" for p in pairs),
        "losses": sum(p["result"] == "loss" for p in pairs),
        "ratio": stats.geomean([p["ratio"] for p in pairs if p["ratio"] is not None]),
    }


_PLACE = ("level", "problem_id", "problem_name")


def _only(mine: dict[Key, Cell], theirs: dict[Key, Cell]) -> list[dict[str, Any]]:
    """Problems that one side alone ran: listed, never imputed."""
    other = {key[0] for key in theirs}
    found = {key[0]: c for key, c in mine.items() if key[0] not in other}
    return [
        {**{k: found[p].where[k] for k in _PLACE}, "correct": found[p].correct, "speedup": found[p].speedup}
        for p in sorted(found)
    ]


def _unpaired(mine: dict[Key, Cell], theirs: dict[Key, Cell]) -> list[dict[str, Any]]:
    """Problems that both ran, but nowhere under the same circumstances, and what keeps them apart."""
    paired = {key[0] for key in mine.keys() & theirs.keys()}
    out = []
    for problem in sorted(({key[0] for key in mine} & {key[0] for key in theirs}) - paired):
        a, b = ([key for key in side if key[0] == problem] for side in (mine, theirs))
        apart = [
            word for i, word in enumerate(_AGREE.values(), 1) if not {key[i] for key in a} & {key[i] for key in b}
        ]
        # Where each alone could agree, their combinations do not: those that vary at all.
        varied = [word for i, word in enumerate(_AGREE.values(), 1) if len({key[i] for key in a + b}) > 1]
        out.append({**{k: mine[a[0]].where[k] for k in _PLACE}, "differ_in": apart or varied})
    return out


def compare(
    con: duckdb.DuckDBPyConnection, a: str, b: str, filters: leaderboards.Filters, *, side: str = "model"
) -> dict[str, Any]:
    """Pair two sides on shared problems and samples.

    Args:
        con: A connection whose models are installed.
        a: Name of the first side.
        b: Name of the second.
        filters: Which runs, at which level of trust.
        side: What the names are: one of `SIDES`.

    Returns:
        `pairs`, `wins`, `ties`, `losses` (of `a`), `p_value` of the sign test, `ratio` with `ratio_lo`
        and `ratio_hi` (geometric mean of a's speedup over b's where both have one that counts;
        problems resampled), `by_level`, `by_class` (the loser's failure class), `only_a`, `only_b`,
        `unpaired` (problems that both ran under different circumstances), `pair_rows` and `notes`.

    Raises:
        UsageError: the filters leave nothing of one side, both are the same (an alias and what it stands
            for are), or a filter names what is compared.
    """
    if a == b:
        raise UsageError("the two sides are the same")
    name = f"{side}s"
    if getattr(filters, name):
        raise UsageError(f"--{side} with a comparison of {name}", hint="the two names say which")
    offers.check_baseline(con, filters.baseline)
    filters = replace(filters, verified_on=offers.verified_on(con, filters.verified_on))
    chosen: dict[str, Any] = {name: [a, b]}
    leaderboards.select_runs(con, replace(filters, **chosen))
    rows = rows_of(con.execute(_CELLS, {"side": side}))
    if any(_is_of(r, side, a) and _is_of(r, side, b) for r in rows):
        hint = f"`kbstats leaderboard --by {side}` lists the names"
        raise UsageError(f"{a!r} and {b!r} are names of the same {side}", hint=hint)
    mine, theirs = _side(rows, side, a), _side(rows, side, b)
    for name, cells in ((a, mine), (b, theirs)):
        if not cells:
            raise UsageError(f"no runs of {side} {name!r}", hint=f"`kbstats leaderboard --by {side}` lists them")
    both = sorted(mine.keys() & theirs.keys(), key=lambda key: tuple(map(str, key)))
    pairs = [_pair(mine[key], theirs[key]) for key in both]
    timed = [p for p in pairs if p["ratio"] is not None]
    ratio, _ = stats.bootstrap([p["ratio"] for p in timed], [p["problem_key"] for p in timed])
    total = _tally(pairs)
    levels = sorted({p["level"] for p in pairs}, key=lambda v: (v is None, v))
    classes = sorted({p["loser_class"] for p in pairs if p["loser_class"]})
    return {
        "a": a,
        "b": b,
        "side": side,
        "trust": filters.trust,
        **total,
        "p_value": sign_test(total["wins"], total["losses"]),
        "n_ratio": len(timed),
        "ratio_lo": ratio.lo,
        "ratio_hi": ratio.hi,
        "by_level": [{"level": v, **_tally([p for p in pairs if p["level"] == v])} for v in levels],
        "by_class": [
            {
                "class": c,
                "a_lost": sum(p["loser_class"] == c and p["result"] == "loss" for p in pairs),
                "b_lost": sum(p["loser_class"] == c and p["result"] == "win" for p in pairs),
            }
            for c in classes
        ],
        "only_a": _only(mine, theirs),
        "only_b": _only(theirs, mine),
        "unpaired": _unpaired(mine, theirs),
        "pair_rows": pairs,
        "notes": board_notes.pooled(con, trust=filters.trust, by="run") + board_notes.baseline(con, filters.baseline),
    }


def _pair(a: Cell, b: Cell) -> dict[str, Any]:
    result = judge(a, b)
    loser = {"win": b, "loss": a}.get(result)
    return {
        **a.where,
        "result": result,
        "correct_a": a.correct,
        "correct_b": b.correct,
        "speedup_a": a.speedup,
        "speedup_b": b.speedup,
        "ratio": a.speedup / b.speedup if a.speedup is not None and b.speedup is not None else None,
        # Of two right kernels the slower lost by its speed, not by a failure.
        "loser_class": loser.failure_class or "slower" if loser else None,
        "run_a": a.run_id,
        "run_b": b.run_id,
    }
