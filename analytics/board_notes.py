"""What a reader must know before reading a board: what it pools, leaves out, and where orders disagree."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

from kbstats.analytics.output import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

# One row a combination: what they pool is counted here, since a list of distinct values a column takes DuckDB
# longer to plan than a small board to compute.
_POOLED = """
select
    suite as suites, level as levels, variant as variants, mode as modes, sweep as sweeps, gpu_key(hardware) as gpus,
    verified_on, counted, coalesce(left_out, if(counted, null, 'infra')) as left_out,
    counted and list_contains(codes, 'sweep_invalid') as invalid,
    count(*) as n
from board_runs
group by all
"""
_LEVELS = """
select
    key, level, count(*) as n, count(*) filter (where counts_correct) as correct,
    count(*) filter (where speedup > 1) as fast
from board_runs
where counted
group by key, level
"""
_PROBLEMS = "select distinct model, problem_key from board_runs where counted"
# Where a row stands for a part of the suite, that part alone is offered to it.
_OFFERED = """
with places as (
    select distinct
        case $grouping::varchar when 'level' then key when 'variant' then key when 'suite' then key end as part,
        suite, level, variant
    from board_runs where counted
),
offered as (
    select distinct a.part, s.problem_key
    from places as a
    inner join suite_problems as s
        on a.suite = s.suite and a.level is not distinct from s.level and a.variant = s.variant
)
select part, count(*) from offered group by part
"""
_ATTEMPTED = "select key, count(distinct problem_key) from board_runs where counted group by key"
_DROP = "delete from board_runs where list_contains($keys::varchar[], key)"
_KEEP_SHARED = """
create or replace temp table shared_problems as
with sides as (
    select distinct problem_key, if($of_models::boolean, model, key) as side from board_runs where counted
)
select problem_key from sides group by problem_key having count(*) = (select count(distinct side) from sides)
"""
_DROP_OTHERS = "delete from board_runs where problem_key not in (select problem_key from shared_problems)"

_LEFT_OUT = {
    "linked": "stand in a richer record of the same run",
    "skipped": "were skipped",
    "not_judged": "were judged by nobody",
    "infra": "failed by harness or infrastructure",
}


def listed(values: Sequence[str], most: int = 4) -> str:
    """Names with commas, the first few of many."""
    shown = ", ".join(map(str, values[:most]))
    return shown if len(values) <= most else f"{shown} and {len(values) - most} more"


def pooled(con: duckdb.DuckDBPyConnection, *, trust: str, by: str) -> list[str]:
    """What each number of the board mixes, what was left out and why."""
    found = rows_of(con.execute(_POOLED))
    notes = []
    for key, one, many, dimension in (
        ("suites", "suite", "suites", "suite"),
        ("levels", "level", "levels", "level"),
        ("variants", "variant", "variants", "variant"),
        ("modes", "mode", "modes", "mode"),
        ("sweeps", "sweep", "sweeps", "sweep"),
        ("gpus", "hardware", "GPU models", "hardware"),
    ):
        values = sorted({str(r[key]) for r in found if r["counted"] and r[key] is not None})
        if len(values) > 1 and by not in {dimension, "run"}:
            notes.append(f"pools {len(values)} {many} ({listed(values)}): --{one} or --by {dimension} separates them")
    out: Counter[str] = Counter()
    for r in found:
        out[r["left_out"]] += r["n"]
        out["invalid"] += r["n"] * bool(r["invalid"])
    verified_on = next((r["verified_on"] for r in found if r["verified_on"]), None)
    if trust == "verified":
        notes.append(
            f"verified on {verified_on}: speedups are the measured ones, and what was not re-run does not count"
            if verified_on
            else "nothing has been re-run; kbstats verify --problems FOLDER re-runs the best claims"
        )
    if reasons := [f"{out[k]} {words}" for k, words in _LEFT_OUT.items() if out[k]]:
        notes.append(f"left out of n: {', '.join(reasons)}")
    if out["invalid"]:
        notes.append(
            f"{out['invalid']} runs failed as their whole sweep did, by no doing of their kernels: "
            "`kbstats failures --patterns`"
        )
    return notes


# Labels that no class knows: neither right nor wrong, and so counted as not correct.
_UNREAD = """
select o.label, count(*) as n
from board_runs as b
inner join run_outcomes as o on b.run_id = o.run_id
where b.counted and o.decided_by = 'label' and o.outcome = 'unknown' and o.label is not null and o.label_outcome is null
group by o.label
order by n desc, o.label
"""


def unread(con: duckdb.DuckDBPyConnection) -> list[str]:
    """How many runs are labelled with words that say neither right nor wrong, and which words."""
    found = con.execute(_UNREAD).fetchall()
    if not found:
        return []
    words = listed([repr(label[:40]) for label, _ in found])
    said = f"{sum(n for _, n in found)} runs count as not correct since their label says neither right nor wrong"
    return [f"{said} ({words}): `kbstats failures --unclassified` lists them"]


_BASELINE = """
select
    count(*) filter (where b.speedup is not null) as got,
    count(*) as correct,
    count(*) filter (where b.speedup is null and r.runtime_us is null) as untimed,
    count(*) filter (where b.speedup is null and r.runtime_us is not null) as unmatched
from board_runs as b
inner join runs as r on b.run_id = r.run_id
where b.counted and b.counts_correct
"""


def baseline(con: duckdb.DuckDBPyConnection, name: str | None) -> list[str]:
    """How many runs have a speedup against the baseline asked for, and why the others have none."""
    if name is None:
        return []
    r = rows_of(con.execute(_BASELINE))[0]
    why = [f"{r['untimed']} without a runtime of their own"] if r["untimed"] else []
    why += [f"{r['unmatched']} without one timing of that GPU, suite and problem"] if r["unmatched"] else []
    rest = f"; none for {', '.join(why)}" if why else ""
    return [f"speedups against {name}: {r['got']} of {r['correct']} correct runs have one{rest}"]


PARTS = ("problem", "level", "variant", "suite")
"""Groupings whose rows stand for parts of the suites: none of them has a problem in common with another."""


def keep_shared(con: duckdb.DuckDBPyConnection, *, by: str) -> None:
    """Keep only the problems that every row of the board attempted; of rows that are parts of a suite, every model."""
    con.execute(_KEEP_SHARED, {"of_models": by in {*PARTS, "run"}})
    con.execute(_DROP_OTHERS)


def offered(con: duckdb.DuckDBPyConnection, *, by: str) -> dict[str | None, int]:
    """Problems that the suites of the board offer at its levels and variants, as far as any source tells.

    Returns:
        Their number under None; on a board of levels, variants or suites under each row's key.
    """
    return dict(con.execute(_OFFERED, {"grouping": by}).fetchall())


def drop_uncovered(con: duckdb.DuckDBPyConnection, least: float, there: dict[str | None, int]) -> list[str]:
    """Take out the runs of rows that attempted less than a share of what is offered; says which."""
    attempted = con.execute(_ATTEMPTED).fetchall()
    short = sorted(key for key, n in attempted if n < least * _of(there, key))
    if not short:
        return []
    con.execute(_DROP, {"keys": short})
    size = f" of {there[None]} problems" if None in there else " of their problems"
    return [f"left out, below {least:.0%}{size}: {', '.join(short)}"]


def _of(there: dict[str | None, int], key: str) -> int:
    return there.get(key, there.get(None, 0))


def add_coverage(rows: list[dict[str, Any]], there: dict[str | None, int], *, by: str) -> None:
    """Add to each row the problems offered to it, and the share that it attempted."""
    for row in rows:
        row["n_offered"] = None if by == "problem" else _of(there, row[by])
        row["coverage"] = row["n_problems"] / row["n_offered"] if row["n_offered"] else None


def coverage(con: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]]) -> list[str]:
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
    counts = listed([f"{m} {len(s)}" for m, s in sorted(attempted.items())])
    hint = ": --shared restricts the board to these" if shared else ""
    return [f"models attempted different problems and share {len(shared)} ({counts}){hint}"]


def simpson(con: duckdb.DuckDBPyConnection, *, sort: str, most: int = 3) -> list[str]:
    """Pairs whose pooled order is the other way round at every level that both ran (Simpson's paradox).

    Args:
        con: A connection with `board_runs`.
        sort: The board's key; only rates can be compared level by level.
        most: Most warnings to give.
    """
    if sort not in {"fast_1", "correct_rate", "fast_0"}:
        return []
    column = "fast" if sort == "fast_1" else "correct"
    # Runs of no level are one group more: without them the pooled rates would not be the board's.
    counts: dict[str, dict[int | None, tuple[int, int]]] = {}
    for r in rows_of(con.execute(_LEVELS)):
        counts.setdefault(r["key"], {})[r["level"]] = (r[column], r["n"])
    pooled_rate = {
        key: sum(k for k, _ in levels.values()) / sum(n for _, n in levels.values()) for key, levels in counts.items()
    }
    notes = []
    for a, b in itertools.permutations(sorted(counts), 2):
        both = sorted(counts[a].keys() & counts[b].keys(), key=lambda v: (v is None, v or 0))
        if len(both) < 2 or pooled_rate[a] <= pooled_rate[b]:
            continue
        gaps = [counts[b][v][0] / counts[b][v][1] - counts[a][v][0] / counts[a][v][1] for v in both]
        if min(gaps) >= 0 and max(gaps) > 0:
            where = ", ".join("none" if v is None else str(v) for v in both)
            notes.append(
                f"{a} is above {b} over all levels, yet not above it at any level that both ran ({where}): "
                "the mix of levels decides"
            )
    more = [] if len(notes) <= most else [f"and {len(notes) - most} more such pairs"]
    return notes[:most] + more
