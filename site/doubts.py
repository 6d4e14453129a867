"""Which finding of the audit doubts which number, so that it can stand beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kbstats.sql.catalog import sql_files

if TYPE_CHECKING:
    import duckdb

COLUMNS = ("speedup", "runtime")
"""Numbers of table `runs` that an audit's code may name."""


class Doubts:
    """Numbers that each audit speaks of: the metrics its statement names, and columns its code names."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        metrics = {n for (n,) in con.execute("select distinct name from metrics").fetchall()}
        self._names: dict[str, frozenset[str]] = {}
        for audit in sql_files("audits"):
            said = set(re.findall(r"'([a-z0-9_.]+%?)'", audit.sql))
            prefixes = tuple(x[:-1] for x in said if x.endswith("%") and len(x) > 3)
            found = {n for n in metrics if n in said or (prefixes and n.startswith(prefixes))}
            self._names[audit.name] = frozenset(found | {c for c in COLUMNS if c in audit.name})

    def __call__(self, finding: dict[str, Any], name: str) -> bool:
        """The finding speaks of this number: its message names it, or, naming none, its audit does."""
        names = self._names.get(finding["code"], frozenset())
        said = {n for n in names if n in (finding["message"] or "")} - set(COLUMNS)
        return name in (said or names)
