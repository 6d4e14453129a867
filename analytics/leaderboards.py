"""Leaderboards: the macro `board` of sql/models, with intervals and ranks added.

What ranks at which level of trust is decided in sql/models/run_trust.sql alone; here are only
statistics and order.
"""

from __future__ import annotations

import functools
import math
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kbstats.analytics import board_notes, offers, samples, stats
from kbstats.analytics.intervals import Intervals
from kbstats.analytics.output import rows_of
from kbstats.sql import catalog

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


# The runs of the board, once: rows, intervals and notes all read them. `counted` marks those in n.
_RUNS = """
create or replace temp table board_runs as
select *, left_out is null and not ($exclude_infra::boolean and is_infra) as counted
from ranked_runs(
    grouping := $grouping::varchar,
    levels := $levels::bigint[], variants := $variants::varchar[], suites := $suites::varchar[],
    sweeps := $sweeps::varchar[], modes := $modes::varchar[], models := $models::varchar[],
    hardwares := $hardwares::varchar[], backends := $backends::varchar[], precisions := $precisions::varchar[],
    trust := $trust::varchar, verified_on := $verified_on::varchar, baseline := $baseline::varchar,
    exclude_infra := false, attempted_only := false
)
"""
_SPEEDUPS = """
select key, problem_key, speedup from board_runs where counted and counts_correct and speedup > 0 order by run_id
"""


@functools.cache
def board_sql() -> str:
    """The select of the macro `board`, over the runs that `select_runs` has already found.

    The macro finds them itself; doing so twice would double the time of a board.
    """
    (text,) = (f.sql for f in catalog.sql_files("models") if f.name == "board")
    select = text[text.index("\nselect\n    key,") :].rstrip().removesuffix(";")
    # By key: it decides between rows that nothing else tells apart.
    return f"with rows_in as (from board_runs where left_out is null)\n{select}\norder by key"


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
    sort: str | None = None,
    ps: Sequence[float] = DEFAULT_P,
    ks: Sequence[int] = (),
    min_coverage: float = 0.0,
    shared: bool = False,
) -> Board:
    """A leaderboard.

    Args:
        con: A connection whose models are installed.
        filters: Which runs, at which level of trust.
        by: One of `GROUPINGS`.
        sort: A key of the rows, fast_1 unless given; the others break ties: fast_1, correct_rate,
            geomean_speedup, name. Of runs one of `RUN_KEYS`, speedup unless given.
        ps: The p of each fast_p wanted beside 0, 1 and 2.
        ks: Numbers of samples for pass@k and best of k.
        min_coverage: Least share (0 to 1) of the board's problems that a row must have attempted.
        shared: Keep only the problems that all rows attempted; of rows that are parts of a suite, all models.

    Returns:
        Rows of the fields that docs/leaderboard.md explains.
    """
    offers.check_baseline(con, filters.baseline)
    filters = replace(filters, verified_on=offers.verified_on(con, filters.verified_on))
    select_runs(con, filters, by=by)
    there = {} if by in {"run", "problem"} else board_notes.offered(con, by=by)
    short = board_notes.drop_uncovered(con, min_coverage, there) if min_coverage > 0 and there else []
    if shared:
        board_notes.keep_shared(con, by=by)
    if by == "run":
        return _runs(con, filters, sort or RUN_KEYS[0])
    sort = sort or "fast_1"
    found = rows_of(con.execute(board_sql()))
    if not found:
        return Board([], short)
    speeds, kept = speedups(con), Intervals(con)
    wanted = list(dict.fromkeys([*DEFAULT_P, *ps]))
    rows = [_row(by, r, speeds.get(r["key"], ([], [])), wanted, kept) for r in found if r["n"]]
    if ks:
        more = samples.columns(con, ks)
        rows = [row | more[r["key"]] for row, r in zip(rows, (r for r in found if r["n"]), strict=True)]
    notes = board_notes.pooled(con, trust=filters.trust, by=by) + board_notes.baseline(con, filters.baseline) + short
    notes += board_notes.unread(con)
    board_notes.add_coverage(rows, there, by=by)
    if by == "model":
        notes += board_notes.coverage(con, rows)
    if by in {"model", "mode", "sweep", "harness"}:
        notes += board_notes.simpson(con, sort=sort)
    _rank(rows, sort, by)
    return Board(rows, notes)


def select_runs(con: duckdb.DuckDBPyConnection, filters: Filters, *, by: str = "model") -> None:
    """Find the runs of a board, as the temporary table `board_runs`."""
    con.execute(_RUNS, {"grouping": by, **filters.parameters()})


def speedups(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[list[float], list[str]]]:
    """Speedups of `board_runs` that count and their problems, by the board's key, in the order of run_id."""
    out: dict[str, tuple[list[float], list[str]]] = {}
    for key, problem, speedup in con.execute(_SPEEDUPS).fetchall():
        values, problems = out.setdefault(key, ([], []))
        values.append(speedup)
        problems.append(problem)
    return out


def p_name(p: float) -> str:
    """The name of a fast_p column: fast_1, fast_1.5; two different p never share one."""
    short = f"{p:g}"
    return f"fast_{short if float(short) == p else repr(p)}"


_BEST = ("best_speedup", "best_model", "best_run_id", "best_kernel_sha256")
"""What a board of problems says of the fastest run that counts."""


def _row(
    by: str, r: dict[str, Any], speeds: tuple[list[float], list[str]], ps: Sequence[float], kept: Intervals
) -> dict[str, Any]:
    n, correct = r["n"], r["correct"]
    values, problems = speeds
    rate, fast = stats.wilson(correct, n), stats.wilson(r["n_fast_1"], n)
    # A board of problems holds one problem a row: there is nothing to resample.
    mean, middle = (stats.UNKNOWN, stats.UNKNOWN) if by == "problem" else kept.of(values, problems)
    out: dict[str, Any] = {"rank": None, by: r["problem_name"] or r["key"] if by == "problem" else r["key"]}
    if by == "problem":
        out |= {k: r[k] for k in ("level", "variant", "problem_id", *_BEST)}
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
        "near_tie": r["near_tie"],
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
        "turns_to_first_correct": r["turns_to_first_correct"],
        "turns_to_best": r["turns_to_best"],
        "n_sol": r["n_sol"],
        "median_sol": r["median_sol"],
        "tokens_per_solved": r["total_tokens"] / r["n_solved"] if r["n_solved"] and r["n_tokens"] == n else None,
        "cost_per_solved": r["cost_usd"] / r["n_solved"] if r["n_solved"] and r["n_cost"] == n else None,
    }
    return out


_ASCENDING = {
    "total_tokens", "cost_usd", "wall_s", "n_turns", "median_turns", "withdrawn", "flagged", "refuted",
    "excluded_infra", "near_tie", "turns_to_first_correct", "turns_to_best", "tokens_per_solved", "cost_per_solved",
}  # fmt: skip
"""Keys of which less is better."""


def _value(row: dict[str, Any], key: str) -> float:
    v = row.get(key)
    if v is None:
        return -math.inf
    rounded = float(f"{v:.12g}")  # sums of the same costs may differ in their last bit
    return -rounded if key in _ASCENDING else rounded


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
        "median_sol", "coverage",
        *sorted(_ASCENDING - {"n_turns"}),
    ]  # fmt: skip


RUN_KEYS = ("speedup", "total_tokens", "cost_usd", "wall_s", "n_turns")
"""Keys that a board of runs can be sorted by."""


def _runs(con: duckdb.DuckDBPyConnection, filters: Filters, sort: str) -> Board:
    """One row a run, best first; what does not count last, with its reason."""
    rows = rows_of(con.execute("from board_runs where counted order by run_id"))
    rows.sort(key=lambda r: (not r["counts_correct"], -_value(r, sort), -_value(r, "speedup"), r["run_id"]))
    keep = (
        "run_id", "model", "suite", "level", "variant", "problem_id", "problem_name", "sample_id", "mode", "sweep",
        "harness", "hardware", "backend", "precision", "counts_correct", "speedup", "claimed_speedup", "outcome",
        "failure_class", "owner", "label_conflict", "withdrawn", "near_tie", "reason", "flagged", "codes", "verified",
        "refuted", "verified_on", "n_turns", "total_tokens", "cost_usd", "wall_s",
    )  # fmt: skip
    out: list[dict[str, Any]] = [{"rank": None, **{k: r[k] for k in keep}} for r in rows]
    for r in out:
        if not r["counts_correct"] and not r["reason"]:
            r["reason"] = r["failure_class"] or ("not_claimed" if r["outcome"] == "correct" else r["outcome"])
    for i, r in enumerate(out):
        ranks = r["counts_correct"] and r[sort] is not None
        tied = i > 0 and ranks and r[sort] == out[i - 1][sort]
        r["rank"] = out[i - 1]["rank"] if tied else i + 1 if ranks else None
    return Board(out, _run_notes(con, filters) if out else [])


def _run_notes(con: duckdb.DuckDBPyConnection, filters: Filters) -> list[str]:
    notes = board_notes.pooled(con, trust=filters.trust, by="run") + board_notes.baseline(con, filters.baseline)
    return notes + board_notes.unread(con)
