"""What stands against files: issues and rejected sources, of this ingest and of earlier ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kbstats.ingest import scan
from kbstats.ingest.archives import INSIDE
from kbstats.ingest.batch import PARTIAL, REJECTED
from kbstats.ingest.hashing import text_id
from kbstats.ingest.issue_codes import STEPS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    import duckdb

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq")


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


class Damaged(NamedTuple):
    """A file that was rejected or cut short, and the first thing that is wrong with it."""

    path: str
    status: str
    code: str
    message: str
    location: str | None

    @property
    def step(self) -> str:
        """What to do about it."""
        if self.code == "unmapped_table" or (self.code == "unknown_format" and self.path.lower().endswith(_TABLES)):
            return "--map FILE for a table"
        return STEPS.get(self.code, "look at the file")

    @property
    def what(self) -> str:
        """What is wrong, and where in the file."""
        known = {"unknown_format": "no format claims it", "unmapped_table": "no mapping fits its columns"}
        place = f" ({self.location})" if self.location else ""
        return known.get(self.code) or self.message.rstrip(".") + place


def damaged(
    con: duckdb.DuckDBPyConnection, paths: AbstractSet[str] | None = None, most: int | None = None
) -> list[Damaged]:
    """Files that are rejected or partial: rejected ones first, then by path.

    Args:
        con: A connection that may read.
        paths: Only sources at these paths, and in archives there.
        most: No more than so many.
    """
    chosen = "$paths is null or list_contains($paths, s.path) or list_contains($paths, split_part(s.path, $inside, 1))"
    rows = con.execute(
        "select s.path, s.status, i.code, i.message, i.location from sources as s join ingest_issues as i "  # noqa: S608
        f"using (source_id) where s.status in ($rejected, $partial) and ({chosen}) "
        "qualify row_number() over (partition by s.source_id order by i.severity, i.code, i.location) = 1 "
        "order by s.status = $partial, s.path limit $most",
        {
            "paths": None if paths is None else sorted(paths),
            "inside": INSIDE,
            "rejected": REJECTED,
            "partial": PARTIAL,
            "most": most,
        },
    ).fetchall()
    return [Damaged(*row) for row in rows]


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
