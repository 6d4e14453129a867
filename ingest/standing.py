"""What stands against files: issues and rejected sources, of this ingest and of earlier ones."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.ingest import scan
from kbstats.ingest.archives import INSIDE
from kbstats.ingest.batch import PARTIAL, REJECTED
from kbstats.ingest.hashing import text_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    import duckdb


def counts(con: duckdb.DuckDBPyConnection, paths: AbstractSet[str]) -> tuple[int, int, dict[str, int]]:
    """Of the sources at some paths, and in archives there: how many are rejected, how many partial; issues by code."""
    # a list, not an Arrow table: where nothing changed, pyarrow is never imported
    con.execute("create or replace temp table present as select unnest($1::varchar[]) as path", [sorted(paths)])
    con.execute(
        "create or replace temp table walked as select source_id, status from sources "
        "where path in (select path from present) or split_part(path, ?, 1) in (select path from present)",
        [INSIDE],
    )
    states = dict(con.execute("select status, count(*) from walked group by all").fetchall())
    issues = con.execute(
        "select code, count(*) from ingest_issues semi join walked using (source_id) group by all"
    ).fetchall()
    con.execute("drop table walked")
    con.execute("drop table present")
    return states.get(REJECTED, 0), states.get(PARTIAL, 0), dict(issues)


def advice(con: duckdb.DuckDBPyConnection, named: AbstractSet[str]) -> list[str]:
    """Of rejected files that the user named: name, what is wrong, what to do."""
    if not named:
        return []
    rows = con.execute(
        "select s.path, i.code, i.message from sources as s join ingest_issues as i using (source_id) "
        "where s.path in (select unnest($1::varchar[])) and s.status = 'rejected' and i.severity = 'error' "
        "qualify row_number() over (partition by s.path order by i.code) = 1 order by all",
        [sorted(named)],
    ).fetchall()
    tables = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")
    out = []
    for path, code, message in rows:
        name = Path(path).name
        if code in {"unknown_format", "unmapped_table"}:
            what = "no format claims it" if code == "unknown_format" else "no mapping fits its columns"
            step = "--map FILE for a table" if name.lower().endswith(tables) else "--format NAME if you know it"
            out.append(f"{name}: {what}; {step}")
        else:
            out.append(f"{name}: {message}")
    return out


def walk_issues(con: duckdb.DuckDBPyConnection, found: list[scan.Unwalkable], roots: Sequence[Path]) -> None:
    """Folders that could not be entered and links that lead out, as issues without a source of their own.

    Those of an earlier walk of the same folders go.
    """
    for root in map(scan.path_text, roots):
        con.execute(
            "delete from ingest_issues where code in ('unreadable_folder', 'outside_link') "
            "and (path = ? or starts_with(path, ?))",
            [root, root.rstrip("/") + "/"],
        )
    for place in found:
        path = scan.path_text(place.path)
        con.execute(
            "insert into ingest_issues by name select ? as source_id, ? as path, ? as severity, "
            "? as code, ? as message",
            [text_id(path, n=16), path, place.severity, place.code, place.message],
        )
