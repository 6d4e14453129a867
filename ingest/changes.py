"""What an ingest added, replaced or removed, as far as stored models ask for it.

What depends on a run alone is computed for changed runs alone; what depends on which problems the runs are about,
only where one came or went. The list lives in a temporary table of the connection, and so rolls back with the
rows it tells of. Rows are counted: one that goes and comes again as it was has not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

MOST = 1000
"""Runs beyond which everything is computed again: a list of them is tried row by row."""

_PROBLEM = "suite, variant, level, problem_id, problem_name"
_TABLE = f"""
create temp table if not exists changed_rows as
select 'run' as what, 0 as n, run_id, {_PROBLEM}, submitted_kernel_sha256 as kernel_sha256 from runs limit 0
"""  # noqa: S608  our names


@dataclass(frozen=True)
class Changes:
    """What changed between two refreshes."""

    runs: list[str] = field(default_factory=list)
    """Ids of the runs that were added, replaced or removed, or that took something from another source."""
    kernels: list[str] = field(default_factory=list)
    """Submitted kernels whose text is new, or that nobody had submitted before."""
    problems: bool = True
    """Whether a problem, a run's problem or a link between runs differs."""


def begin(con: duckdb.DuckDBPyConnection) -> None:
    """Start a list. After an ingest that was stopped half way nobody knows what changed."""
    con.execute(_TABLE)
    con.execute("insert into changed_rows (n) select 0 from meta where key = 'derived' and value = 'stale'")


def runs(con: duckdb.DuckDBPyConnection, ids: str, n: int) -> None:
    """Note runs on record as there (1), as going (-1) or as changed in a column (0).

    Args:
        con: The connection that writes them.
        ids: A query of our own for their ids.
        n: How many more of them there are by what is about to be done, or was.
    """
    con.execute(_TABLE)
    con.execute(
        f"insert into changed_rows by name select 'run' as what, {n:d} as n, run_id, {_PROBLEM}, "  # noqa: S608
        f"submitted_kernel_sha256 as kernel_sha256 from runs where run_id in ({ids})"
    )


def problems(con: duckdb.DuckDBPyConnection, sources: str, n: int) -> None:
    """Note the problems of some sources (a query of our own for their ids) as there (1) or as going (-1)."""
    con.execute(_TABLE)
    con.execute(
        f"insert into changed_rows by name select 'problem' as what, {n:d} as n, {_PROBLEM} "  # noqa: S608
        f"from problems where source_id in ({sources})"
    )


def kernels(con: duckdb.DuckDBPyConnection, hashes: str) -> None:
    """Note kernels, given by a query of our own for their hashes, whose text comes only now."""
    con.execute(_TABLE)
    con.execute(f"insert into changed_rows by name select 'kernel' as what, 0 as n, kernel_sha256 from ({hashes})")  # noqa: S608


def links(con: duckdb.DuckDBPyConnection) -> None:
    """Note that runs are linked otherwise than before."""
    con.execute(_TABLE)
    con.execute("insert into changed_rows (what, n) values ('link', 1)")


def take(con: duckdb.DuckDBPyConnection) -> Changes | None:
    """What changed since `begin`, and an end to the list; None where it is unknown or long."""
    if not con.execute("select 1 from duckdb_tables() where table_name = 'changed_rows' and temporary").fetchall():
        return None
    ids, unknown = con.execute(
        "select list(distinct run_id) filter (where what = 'run'), count(*) filter (where what is null) "
        "from changed_rows"
    ).fetchall()[0]
    found = None if unknown or len(ids or ()) > MOST else _summed(con, ids or [])
    con.execute("drop table changed_rows")
    return found


def _summed(con: duckdb.DuckDBPyConnection, ids: list[str]) -> Changes:
    problems = con.execute(
        "select 1 from changed_rows where what <> 'kernel' "  # noqa: S608  our names
        f"group by what, run_id, {_PROBLEM} having sum(n) <> 0 limit 1"
    ).fetchall()
    # submitted now, and by nobody before: as many now as came
    kernels = con.execute(
        "with noted as (select kernel_sha256, sum(n) as n, bool_or(what = 'kernel') as new_text from changed_rows "
        "where kernel_sha256 is not null group by all), "
        "there as (select submitted_kernel_sha256 as kernel_sha256, count(*) as n from runs "
        "where submitted_kernel_sha256 in (select kernel_sha256 from noted) group by all) "
        "select kernel_sha256 from noted join there using (kernel_sha256) "
        "where new_text or there.n <= noted.n order by 1"
    ).fetchall()
    return Changes(ids, [k[0] for k in kernels], bool(problems))
