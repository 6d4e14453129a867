"""Which runs an ingest added, replaced or removed: what depends on a run alone is computed for those alone.

The list lives in a temporary table of the connection, and so rolls back with the rows it tells of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

MOST = 1000
"""Runs beyond which everything is computed again: a list of them is tried row by row."""


def begin(con: duckdb.DuckDBPyConnection) -> None:
    """Start a list. After an ingest that was stopped half way nobody knows what changed."""
    con.execute("create temp table if not exists changed_runs (run_id varchar)")
    con.execute("insert into changed_runs select null from meta where key = 'derived' and value = 'stale'")


def note(con: duckdb.DuckDBPyConnection, runs: str) -> None:
    """Add runs, given by a query of our own for their ids."""
    con.execute("create temp table if not exists changed_runs (run_id varchar)")
    con.execute(f"insert into changed_runs {runs}")


def take(con: duckdb.DuckDBPyConnection) -> list[str] | None:
    """The runs that changed since `begin`, and an end to the list; None where it is unknown or long."""
    if not con.execute("select 1 from duckdb_tables() where table_name = 'changed_runs' and temporary").fetchall():
        return None
    n, unknown = con.execute("select count(distinct run_id), count(*) - count(run_id) from changed_runs").fetchall()[0]
    ids = None if unknown or n > MOST else con.execute("select distinct run_id from changed_runs").fetchall()
    con.execute("drop table changed_runs")
    return None if ids is None else [r[0] for r in ids]
