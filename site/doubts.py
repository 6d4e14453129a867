"""Which finding of the audit doubts which number, so that it can stand beside it."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from kbstats.sql.catalog import sql_files

if TYPE_CHECKING:
    import duckdb

COLUMNS = ("speedup", "runtime")
"""Numbers of table `runs` that an audit may doubt beside metrics."""


class Doubts:
    """Numbers that each audit's header says it doubts, among those that the database has."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        there = [*COLUMNS, *(n for (n,) in con.execute("select distinct name from metrics").fetchall())]
        self._names = {
            a.name: frozenset(n for n in there if any(fnmatchcase(n, p) for p in a.doubts)) for a in sql_files("audits")
        }

    def __call__(self, finding: dict[str, Any], name: str) -> bool:
        """The finding speaks of this number: its message names it, or, naming none, its audit does."""
        names = self._names.get(finding["code"], frozenset())
        said = {n for n in names if n in (finding["message"] or "")} - set(COLUMNS)
        return name in (said or names)
