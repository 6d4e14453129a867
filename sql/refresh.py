"""Stored models after an ingest: only what differs is computed again, and only what can hold a row is planned.

Four ways, by the keys of a file's header (`sql.catalog`):

* ``changes: run_id`` and ``changes: kernel_sha256``: the rows of changed runs, or of their kernels, are replaced;
* ``changes: problems``: as it was where no run's problem, no problem and no link changed;
* ``needs``: without rows in what it needs, a model or an audit has none; planning an audit takes longer than running
  it over thousands of runs, so that those are left out that can find nothing;
* everything else is computed as a whole.
"""

from __future__ import annotations

import fnmatch
from typing import TYPE_CHECKING

from kbstats.sql import catalog

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    from kbstats.ingest.changes import Changes
    from kbstats.sql.catalog import SqlFile

WORDS = {"metrics": "name", "kernel_marks": "mark"}
"""The column whose words an entry of `needs` names in brackets."""


def refresh_stored(con: duckdb.DuckDBPyConnection, changed: Changes | None = None) -> None:
    """Bring the stored models up to date with the tables as they are now.

    Args:
        con: A connection that may write.
        changed: What changed since, if nothing else did that a model with a `changes` key reads; None
            computes everything again.
    """
    there = _There(con)
    for f in catalog.models():
        if not f.stored:
            continue
        if f.name == catalog.FINDINGS:
            _replace(con, f.name, catalog.findings([a for a in catalog.sql_files("audits") if there.has(a)]))
        elif not there.has(f):
            con.execute(f"delete from {f.name}")  # noqa: S608  our names
        elif changed is None or f.changes is None:
            _replace(con, f.name, f"from {f.name}__source")
        elif f.changes == "problems":
            if changed.problems:
                _replace(con, f.name, f"from {f.name}__source")
        elif f.changes == "run_id":
            con.execute(f"delete from {f.name} where list_contains($1, run_id)", [changed.runs])  # noqa: S608
            _insert(con, f, changed.runs)
        else:
            con.execute(
                f"delete from {f.name} where list_contains($1, kernel_sha256) or kernel_sha256 not in "  # noqa: S608
                "(select submitted_kernel_sha256 from runs where submitted_kernel_sha256 is not null)",
                [changed.kernels],
            )
            _insert(con, f, changed.kernels)


def _replace(con: duckdb.DuckDBPyConnection, name: str, select: str) -> None:
    con.execute(f"create or replace table {name} as {select}")


def _insert(con: duckdb.DuckDBPyConnection, f: SqlFile, ids: Sequence[str]) -> None:
    if ids:
        # a list, not a subquery: the planner moves it down to the tables
        con.execute(f"insert into {f.name} from {f.name}__source where list_contains($1, {f.changes})", [ids])


class _There:
    """What there are rows of: tables, and words in the columns of `WORDS`."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con
        self._found: dict[str, set[str]] = {}

    def has(self, f: SqlFile) -> bool:
        """Whether there is all that a file needs."""
        return all(self._any(table, words) for table, words in f.needs)

    def _any(self, table: str, words: Sequence[str]) -> bool:
        if table not in self._found:
            what = f"distinct {WORDS[table]}" if table in WORDS else "''"
            least = "" if table in WORDS else "limit 1"
            rows = self._con.execute(f"select {what} from {table} {least}").fetchall()  # noqa: S608  our names
            self._found[table] = {r[0] for r in rows}
        found = self._found[table]
        return any(fnmatch.fnmatchcase(name, word) for word in words for name in found) if words else bool(found)
