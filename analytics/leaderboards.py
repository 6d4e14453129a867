"""Leaderboards: the macro `board` of sql/models, with intervals and ranks added.

What ranks at which level of trust is decided in sql/models/run_trust.sql alone; here are only
statistics and order.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from kbstats.analytics import stats
from kbstats.analytics.output import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import duckdb

TRUST = ("claimed", "audited", "verified")
"""Levels of trust, from what the source says to what was measured again."""

GROUPINGS = ("model", "problem", "run", "mode", "sweep", "level", "variant", "suite", "harness", "hardware", "backend")
"""What a board can have one row of."""

DEFAULT_P = (0.0, 1.0, 2.0)


@dataclass(frozen=True)
class Filters:
    """Which runs a board takes; an empty list takes all. They are bound as parameters, never pasted."""

    levels: list[int] = field(default_factory=list)
    variants: list[str] = field(default_factory=list)
    suites: list[str] = field(default_factory=list)
    sweeps: list[str] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    hardwares: list[str] = field(default_factory=list)
    backends: list[str] = field(default_factory=list)
    precisions: list[str] = field(default_factory=list)
    trust: str = "claimed"
    verified_on: str | None = None
    baseline: str | None = None
    exclude_infra: bool = False

    def parameters(self) -> dict[str, Any]:
        """Values for the macros' named parameters; NULL means no filter."""
        return {k: (None if v == [] else v) for k, v in asdict(self).items()}


# The runs of the board, once: rows, intervals and notes all read them.
_RUNS = """
create or replace temp table board_runs as
from ranked_runs(
    grouping := $grouping::varchar,
    levels := $levels::bigint[], variants := $variants::varchar[], suites := $suites::varchar[],
    sweeps := $sweeps::varchar[], modes := $modes::varchar[], models := $models::varchar[],
    hardwares := $hardwares::varchar[], backends := $backends::varchar[], precisions := $precisions::varchar[],
    trust := $trust::varchar, verified_on := $verified_on::varchar, baseline := $baseline::varchar,
    exclude_infra := $exclude_infra::boolean
)
"""
_BOARD = """
from board(
    grouping := $grouping::varchar,
    levels := $levels::bigint[], variants := $variants::varchar[], suites := $suites::varchar[],
    sweeps := $sweeps::varchar[], modes := $modes::varchar[], models := $models::varchar[],
    hardwares := $hardwares::varchar[], backends := $backends::varchar[], precisions := $precisions::varchar[],
    trust := $trust::varchar, verified_on := $verified_on::varchar, baseline := $baseline::varchar,
    exclude_infra := $exclude_infra::boolean
)
"""
_SPEEDUPS = "select key, problem_key, speedup from board_runs where counts_correct and speedup > 0 order by run_id"
_POOLED = """
select
    list(distinct coalesce(variant, 'original')) as variants,
    list(distinct mode) filter (where mode is not null) as modes,
    list(distinct sweep) filter (where sweep is not null) as sweeps,
    list(distinct gpu_key(hardware)) filter (where hardware is not null) as gpus,
    any_value(verified_on) as verified_on,
    count(distinct problem_key) as n_problems
from board_runs
"""
_PROBLEMS = "select distinct model, problem_key from board_runs"


@dataclass
class Board:
    """A board's rows, best first, and what a reader must know before reading them."""

    rows: list[dict[str, Any]]
    notes: list[str]


def board(
    con: duckdb.DuckDBPyConnection,
    filters: Filters,
    *,
    by: str = "model",
    sort: str = "fast_1",
    ps: Sequence[float] = DEFAULT_P,
    min_coverage: float = 0.0,
) -> Board:
    """A leaderboard.

    Args:
        con: A connection whose models are installed.
        filters: Which runs, at which level of trust.
        by: One of `GROUPINGS`.
        sort: A key of the rows; the others break ties: fast_1, correct_rate, geomean_speedup, name.
        ps: The p of each fast_p wanted beside 0, 1 and 2.
        min_coverage: Least share (0 to 1) of the board's problems that a row must have attempted.

    Returns:
        Rows of the fields that docs/leaderboard.md explains.
    """
    parameters = {"grouping": by, **filters.parameters()}
    con.execute(_RUNS, parameters)
    if by == "run":
        return _runs(con, filters)
    found = rows_of(con.execute(_BOARD, parameters))
    if not found:
        return Board([], [])
    speeds = _speedups(con)
    wanted = list(dict.fromkeys([*DEFAULT_P, *ps]))
    rows = [_row(by, r, speeds.get(r["key"], ([], [])), wanted) for r in found if r["n"]]
    notes = _pooled(con, filters, by)
    if by == "model":
        notes += _coverage(con, rows)
    if min_coverage > 0:
        offered = rows_of(con.execute(_POOLED))[0]["n_problems"]
        short = [r[by] for r in rows if r["n_problems"] < min_coverage * offered]
        rows = [r for r in rows if r["n_problems"] >= min_coverage * offered]
        if short:
            notes.append(f"left out, below {min_coverage:.0%} of {offered} problems: {', '.join(map(str, short))}")
    _rank(rows, sort, by)
    return Board(rows, notes)


def _speedups(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[list[float], list[str]]]:
    """Speedups that count and their problems, by the board's key, in the order of run_id."""
    out: dict[str, tuple[list[float], list[str]]] = {}
    for key, problem, speedup in con.execute(_SPEEDUPS).fetchall():
        values, problems = out.setdefault(key, ([], []))
        values.append(speedup)
        problems.append(problem)
    return out


def p_name(p: float) -> str:
    """The name of a fast_p column: fast_1, fast_1.5."""
    return f"fast_{p:g}"


def _row(by: str, r: dict[str, Any], speeds: tuple[list[float], list[str]], ps: Sequence[float]) -> dict[str, Any]:
    n, correct = r["n"], r["correct"]
    values, problems = speeds
    rate, fast = stats.wilson(correct, n), stats.wilson(r["n_fast_1"], n)
    # A board of problems holds one problem a row: there is nothing to resample.
    mean, middle = (stats.UNKNOWN, stats.UNKNOWN) if by == "problem" else stats.bootstrap(values, problems)
    out: dict[str, Any] = {"rank": None, by: r["problem_name"] or r["key"] if by == "problem" else r["key"]}
    if by == "problem":
        out |= {k: r[k] for k in ("level", "variant", "problem_id", "best_speedup", "best_model", "best_run_id")}
    out |= {
        "n": n,
        "correct": correct,
        "correct_rate": correct / n,
        "correct_lo": rate.lo,
        "correct_hi": rate.hi,
        "n_speedup": r["n_speedup"],
        "median_speedup": r["median_speedup"],
        "median_lo": middle.lo,
        "median_hi": middle.hi,
        "geomean_speedup": r["geomean_speedup"],
        "geomean_lo": mean.lo,
        "geomean_hi": mean.hi,
    }
    for p in ps:
        # p = 0 is the correct rate, speedup or not; any other p needs a speedup above it.
        out[p_name(p)] = correct / n if p == 0 else sum(v > p for v in values) / n
    out |= {
        "fast_1_lo": fast.lo,
        "fast_1_hi": fast.hi,
        "excluded_infra": r["excluded_infra"],
        "withdrawn": r["withdrawn"],
        "flagged": r["flagged"],
        "verified": r["verified"],
        "refuted": r["refuted"],
        "verified_on": r["verified_on"],
        "n_problems": r["n_problems"],
        "n_models": r["n_models"],
        "total_tokens": None if r["total_tokens"] is None else int(r["total_tokens"]),
        "cost_usd": r["cost_usd"],
        "wall_s": r["wall_s"],
        "median_turns": r["median_turns"],
    }
    return out


_ASCENDING = {"total_tokens", "cost_usd", "wall_s", "median_turns", "withdrawn", "flagged", "refuted", "excluded_infra"}
"""Keys of which less is better."""


def _value(row: dict[str, Any], key: str) -> float:
    v = row.get(key)
    if v is None:
        return -math.inf
    return -float(v) if key in _ASCENDING else float(v)


def _ends(row: dict[str, Any], key: str) -> tuple[float, float]:
    """The interval of the sort key. Without one, a row is above nobody and below only those above its value."""
    value = _value(row, key)
    p = None if not key.startswith("fast_") else float(key[5:])
    if key == "correct_rate" or p == 0:
        return row["correct_lo"], row["correct_hi"]
    if p is not None:
        interval = stats.wilson(round(row[key] * row["n"]), row["n"])
        return interval.lo or 0.0, 1.0 if interval.hi is None else interval.hi
    if key in {"geomean_speedup", "median_speedup"}:
        stem = key.removesuffix("_speedup")
        lo, hi = row[f"{stem}_lo"], row[f"{stem}_hi"]
        return (-math.inf, value) if lo is None else (lo, hi)
    return value, value


def _rank(rows: list[dict[str, Any]], sort: str, by: str) -> None:
    """Best first; rank = 1 + the number of rows whose interval of the key lies wholly above this one's."""
    keys = list(dict.fromkeys([sort, "fast_1", "correct_rate", "geomean_speedup"]))
    rows.sort(key=lambda r: (*(-_value(r, k) for k in keys), str(r[by])))
    ends = [_ends(r, sort) for r in rows]
    for row, (_, hi) in zip(rows, ends, strict=True):
        row["rank"] = 1 + sum(lo > hi for lo, _ in ends)


def sort_keys(ps: Iterable[float] = ()) -> list[str]:
    """Keys that `sort` takes."""
    fast = [p_name(p) for p in dict.fromkeys([*DEFAULT_P, *ps])]
    return [
        *fast, "correct_rate", "geomean_speedup", "median_speedup", "n", "correct", "n_speedup", "verified",
        *sorted(_ASCENDING),
    ]  # fmt: skip


def _runs(con: duckdb.DuckDBPyConnection, filters: Filters) -> Board:
    """One row a run, fastest first; what does not count last, with its reason."""
    rows = rows_of(con.execute("from board_runs order by run_id"))
    rows.sort(key=lambda r: (not r["counts_correct"], -_value(r, "speedup"), r["run_id"]))
    keep = (
        "run_id", "model", "suite", "level", "variant", "problem_id", "problem_name", "sample_id", "mode", "sweep",
        "harness", "hardware", "backend", "precision", "counts_correct", "speedup", "claimed_speedup", "outcome",
        "failure_class", "owner", "label_conflict", "withdrawn", "reason", "flagged", "codes", "verified", "refuted",
        "verified_on", "n_turns", "total_tokens", "cost_usd", "wall_s",
    )  # fmt: skip
    out: list[dict[str, Any]] = [{"rank": None, **{k: r[k] for k in keep}} for r in rows]
    for i, r in enumerate(out):
        tied = i > 0 and r["speedup"] == out[i - 1]["speedup"] and r["speedup"] is not None
        r["rank"] = out[i - 1]["rank"] if tied else (i + 1 if r["speedup"] is not None else None)
    return Board(out, _pooled(con, filters, "run") if out else [])


def _listed(values: Sequence[str], most: int = 4) -> str:
    shown = ", ".join(map(str, values[:most]))
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def _pooled(con: duckdb.DuckDBPyConnection, filters: Filters, by: str) -> list[str]:
    """What each number of the board mixes."""
    r = rows_of(con.execute(_POOLED))[0]
    notes = []
    for key, one, many, dimension in (
        ("variants", "variant", "variants", "variant"),
        ("modes", "mode", "modes", "mode"),
        ("sweeps", "sweep", "sweeps", "sweep"),
        ("gpus", "hardware", "GPU models", "hardware"),
    ):
        values = sorted(r[key] or [])
        if len(values) > 1 and by not in {dimension, "run"}:
            notes.append(f"pools {len(values)} {many} ({_listed(values)}): --{one} or --by {dimension} separates them")
    if filters.trust == "verified":
        where = r["verified_on"] or "no GPU model"
        notes.append(f"verified on {where}: speedups are the measured ones, and what was not re-run does not count")
    return notes


def _coverage(con: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]) -> list[str]:
    """How many problems the models share; adds `n_shared`, the number that all of them attempted."""
    attempted: dict[str, set[str]] = {}
    for model, problem in con.execute(_PROBLEMS).fetchall():
        attempted.setdefault(model, set()).add(problem)
    sets = list(attempted.values())
    shared = set.intersection(*sets) if sets else set()
    for r in rows:
        r["n_shared"] = len(shared)
    if len(sets) < 2 or all(s == sets[0] for s in sets):
        return []
    counts = _listed([f"{m} {len(s)}" for m, s in sorted(attempted.items())])
    return [f"models attempted different problems and share {len(shared)} ({counts})"]
