"""Which of two versions of a file stands: what is on record of it, or what was read of it now.

A new version that was rejected has nothing, and one that was cut short may have less than the one
before: a sweep that is still writing rewrites its file from the start. Then what is on record stays.
A file that grows line by line is cut short as well, and has more: it replaces what was there.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

from kbstats.ingest.batch import PARTIAL, REJECTED
from kbstats.ingest.transactions import frame

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import duckdb
    import pyarrow as pa
    from kbstats.ingest.decoding import Chunk

RUN_TABLES = ("turns", "messages", "tool_calls", "compile_errors", "timeouts", "metrics")
"""Tables whose rows belong to a run and name no source."""
SOURCE_TABLES = (
    "problems",
    "baselines",
    "annotations",
    "verifications",
    "verification_checks",
    "verification_timings",
    "ingest_issues",
    "run_copies",
)
"""Tables whose rows name their source."""
_OWN = tuple(t for t in SOURCE_TABLES if t not in {"ingest_issues", "run_copies"})


class Kept(NamedTuple):
    """What is on record of a source, of which the new version is not taken."""

    format: str
    n_runs: int
    why: str
    """What is wrong with the new version: `rejected`, `cut short`."""


def kept(con: duckdb.DuckDBPyConnection, chunk: Chunk) -> dict[str, Kept]:
    """Of a chunk's files those whose rows on record stay, by source."""
    known = [f for f in chunk.files if f.task.known and not f.unchanged]
    rejected = with_rows(con, [f.task.source_id for f in known if f.status == REJECTED])
    cut = with_rows(con, [f.task.source_id for f in known if f.status == PARTIAL])
    if cut:
        poorer = _poorer(con, chunk, list(cut))
        cut = {source_id: kept for source_id, kept in cut.items() if source_id in poorer}
    return {
        **{source_id: Kept(*kept, "rejected") for source_id, kept in rejected.items()},
        **{source_id: Kept(*kept, "cut short") for source_id, kept in cut.items()},
    }


def with_rows(con: duckdb.DuckDBPyConnection, source_ids: Sequence[str]) -> dict[str, tuple[str, int]]:
    """(format, number of runs) of those sources that have rows, beside issues."""
    if not source_ids:
        return {}
    with frame(con, "asked", _ids(source_ids)):
        having = " union ".join(
            f"select source_id from {t}"  # noqa: S608  our names
            for t in ("runs", *SOURCE_TABLES)
            if t != "ingest_issues"
        )
        rows = con.execute(
            "select source_id, format, n_runs from sources semi join asked using (source_id) "  # noqa: S608
            f"where source_id in ({having})"
        ).fetchall()
    return {r[0]: (r[1], r[2] or 0) for r in rows}


def _ids(source_ids: Collection[str]) -> pa.Table:
    import pyarrow as pa

    return pa.table({"source_id": pa.array(list(source_ids), pa.string())})


def _poorer(con: duckdb.DuckDBPyConnection, chunk: Chunk, source_ids: Sequence[str]) -> set[str]:
    """The sources whose new version lacks a run on record, or has fewer rows of some table."""
    import pyarrow as pa

    empty = pa.table({"run_id": pa.array([], pa.string()), "source_id": pa.array([], pa.string())})
    runs = chunk.tables["runs"].select(["run_id", "source_id"]) if "runs" in chunk.tables else empty
    out: set[str] = set()
    with frame(con, "asked", _ids(source_ids)), frame(con, "new_runs", runs):
        out.update(
            r[0]
            for r in con.execute(
                "select source_id from (select run_id, source_id from runs union all "
                "select run_id, source_id from run_copies) semi join asked using (source_id) "
                "anti join new_runs using (run_id, source_id)"
            ).fetchall()
        )
        for name in (*RUN_TABLES, *_OWN):
            of_run = name in RUN_TABLES
            column = "run_id" if of_run else "source_id"
            rows = chunk.tables[name].select([column]) if name in chunk.tables else empty.select([column])
            with frame(con, "new_rows", rows):
                # our names
                joined = "join {0} using (run_id) " if of_run else ""
                found = con.execute(
                    f"select source_id from {name} {joined.format('runs')}semi join asked using (source_id) "  # noqa: S608
                    f"group by source_id having count(*) > coalesce((select count(*) from new_rows as n "
                    f"{'join new_runs as m using (run_id)' if of_run else ''} where "
                    f"{'m' if of_run else 'n'}.source_id = {'runs' if of_run else name}.source_id), 0)"
                ).fetchall()
            out.update(r[0] for r in found)
    return out


def without(chunk: Chunk, source_ids: Collection[str]) -> Chunk:
    """The chunk without the rows of some sources; their issues stay."""
    if not source_ids:
        return chunk
    import pyarrow as pa
    import pyarrow.compute as pc

    sources = pa.array(list(source_ids), pa.string())
    tables = dict(chunk.tables)
    runs = tables.get("runs")
    gone = None if runs is None else runs.filter(pc.is_in(runs["source_id"], value_set=sources))["run_id"]
    for name, table in chunk.tables.items():
        if name in RUN_TABLES and gone is not None:
            tables[name] = table.filter(pc.invert(pc.is_in(table["run_id"], value_set=gone)))
        elif name == "runs" or name in _OWN:
            tables[name] = table.filter(pc.invert(pc.is_in(table["source_id"], value_set=sources)))
    return dataclasses.replace(chunk, tables=tables)


def note(con: duckdb.DuckDBPyConnection, source_id: str, path: str, why: str = "rejected") -> None:
    """Replace a source's issues by those of its new version, with a word on the rows that stay.

    Where the same verification stands in another file, that issue stays too: it finds the file again.
    """
    con.execute(
        "delete from ingest_issues where source_id = ? and code <> 'duplicate_verification'", [source_id]
    )
    con.execute(
        "insert into ingest_issues by name select ? as source_id, ? as path, 'warning' as severity, "
        "'kept_old_rows' as code, ? as message",
        [source_id, path, f"the file as it is now was {why}; what was read of it before stays"],
    )
