"""Bootstrap intervals kept with their data, so that a board does not pay for them again.

An interval depends on nothing but the speedups and their problems, so it is stored under a hash of
both: it can be missing, never stale. The common boards' are computed when an ingest ends; a board
with other filters computes its own and keeps nothing, because reading commands do not write.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from kbstats.analytics import stats
from kbstats.analytics.stats import UNKNOWN, Interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

MOST_VALUES = 100_000
"""Speedups to resample in all when an ingest ends; boards that come later compute their own."""

# A level's board has the same rows as the whole one, of that level; only which GPU a verified board
# stands on may differ, so of those the whole one alone is kept.
_SPEEDUPS = """
select key, level, problem_key, speedup from board_runs
where counted and counts_correct and speedup > 0
order by run_id
"""
_KNOWN = "select key, geomean_lo, geomean_hi, median_lo, median_hi from board_intervals"
_ADD = "insert or replace into board_intervals values (?, ?, ?, ?, ?)"
_PRUNE = "delete from board_intervals where not list_contains($keys::varchar[], key)"

# All that the common boards' speedups and problems come from (`ranked_runs`, without filters), as one number.
_RESTS_ON = """
select count(*), sum(hash(t, p, s.left_out, r.model, r.level, r.precision, r.speedup)::hugeint)
from run_trust as t
inner join runs as r on t.run_id = r.run_id
inner join run_status as s on t.run_id = s.run_id
inner join run_problems as p on t.run_id = p.run_id
"""
_SAID = "select value from meta where key = 'boards'"

Pair = tuple[Interval, Interval]
"""Intervals of the geometric mean and of the median."""


def key_of(values: Sequence[float], problems: Sequence[str]) -> str:
    """The hash under which the intervals of these speedups are kept."""
    h = hashlib.blake2b(f"{stats.RESAMPLES} {stats.SEED}".encode(), digest_size=16)
    places = {p: i for i, p in enumerate(dict.fromkeys(problems))}
    h.update("\n".join(f"{v!r} {places[p]}" for v, p in zip(values, problems, strict=True)).encode())
    return h.hexdigest()


class Intervals:
    """The intervals of one board: looked up, or computed where they are not kept."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.kept: dict[str, Pair] = {
            key: (Interval(a, b), Interval(c, d)) for key, a, b, c, d in con.execute(_KNOWN).fetchall()
        }

    def of(self, values: Sequence[float], problems: Sequence[str]) -> Pair:
        """The intervals of the geometric mean and of the median; unknown below three problems."""
        if len(set(problems)) < stats.MIN_PROBLEMS:
            return UNKNOWN, UNKNOWN
        return self.kept.get(key_of(values, problems)) or stats.bootstrap(values, problems)


def store(con: duckdb.DuckDBPyConnection) -> int:
    """Compute and keep the intervals of the common boards; returns how many were new.

    Common are the boards of models at each level of trust, over all runs and over each level alone.
    To be called with the stored models up to date, on a connection that may write. Where nothing changed
    that these boards rest on, nothing is looked at.
    """
    rests_on = f"{stats.RESAMPLES} {stats.SEED} {con.execute(_RESTS_ON).fetchall()[0]}"
    if con.execute(_SAID).fetchall() == [(rests_on,)]:
        return 0
    kept = Intervals(con).kept
    wanted: dict[str, Pair] = {}
    new = spent = 0
    for values, problems in _common(con):
        if len(set(problems)) < stats.MIN_PROBLEMS:
            continue
        key = key_of(values, problems)
        if key in kept:
            wanted[key] = kept[key]
        elif key not in wanted and spent <= MOST_VALUES:
            new, spent = new + 1, spent + len(values)
            wanted[key] = stats.bootstrap(values, problems)
    con.execute(_PRUNE, {"keys": list(wanted)})
    rows = [(k, *mean, *middle) for k, (mean, middle) in wanted.items() if k not in kept]
    if rows:
        con.executemany(_ADD, rows)
    con.execute("insert or replace into meta values ('boards', ?)", [rests_on])
    return new


def _common(con: duckdb.DuckDBPyConnection) -> list[tuple[list[float], list[str]]]:
    """Speedups and problems of each row of the common boards, boards over all levels first."""
    from kbstats.analytics import leaderboards

    found: dict[tuple[str, int | None, str], tuple[list[float], list[str]]] = {}
    for trust in leaderboards.TRUST:
        leaderboards.select_runs(con, leaderboards.Filters(trust=trust))
        for key, level, problem, speedup in con.execute(_SPEEDUPS).fetchall():
            for part in (None,) if trust == "verified" or level is None else (None, level):
                values, problems = found.setdefault((trust, part, key), ([], []))
                values.append(speedup)
                problems.append(problem)
    con.execute("drop table if exists temp.board_runs")
    return [found[k] for k in sorted(found, key=lambda k: k[1] is not None)]
