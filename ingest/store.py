"""What the pipeline does to the database: one transaction a chunk, rows of a changed source replaced."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kbstats.ingest import copies, scan
from kbstats.ingest.batch import REJECTED
from kbstats.ingest.hashing import text_id

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence

    import duckdb
    import pyarrow as pa
    from kbstats.ingest.decoding import Chunk, FileResult

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

UNKNOWN_FORMAT = "unknown"
"""The format of a source that the user named and no format claims."""


class Known(NamedTuple):
    """A source on record."""

    format: str
    content_hash: str | None
    size: int
    mtime_us: int
    ingested_us: int

    def racy(self, window_us: int) -> bool:
        """It was read so soon after its change that another change may hide behind the same time."""
        return self.ingested_us - self.mtime_us < window_us


@contextlib.contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All or nothing."""
    con.execute("begin")
    try:
        yield
        con.execute("commit")
    except BaseException:
        with contextlib.suppress(Exception):
            con.execute("rollback")
        raise


@contextlib.contextmanager
def frame(con: duckdb.DuckDBPyConnection, name: str, table: object) -> Iterator[None]:
    """An Arrow table under a name, for as long as it is needed."""
    con.register(name, table)
    try:
        yield
    finally:
        con.unregister(name)


def sources(con: duckdb.DuckDBPyConnection) -> dict[str, Known]:
    """All sources on record, by path."""
    rows = con.execute(
        "select path, format, content_hash, size_bytes, epoch_us(mtime), epoch_us(ingested_at) from sources"
    ).fetchall()
    return {r[0]: Known(r[1], r[2], r[3] or 0, r[4] or 0, r[5]) for r in rows}


def write(con: duckdb.DuckDBPyConnection, chunk: Chunk, now: datetime) -> int:
    """Put one chunk into the tables; the old rows of its sources go.

    Returns:
        How many of its runs stand in `run_copies`, because another source has the same run.
    """
    fresh = [f for f in chunk.files if not f.unchanged]
    touched = [f for f in chunk.files if f.unchanged]
    with transaction(con):
        if known := [f.task.source_id for f in fresh if f.task.known]:
            delete_sources(con, known, keep_row=True)
        _upsert_sources(con, fresh, now)
        _touch(con, touched, now)
        tables, n_copies = copies.resolve(con, chunk)
        tables = _without_known_verifications(con, chunk, tables)
        for name, table in tables.items():
            if table.num_rows:
                with frame(con, "incoming", table):
                    if name == "kernels":
                        con.execute(
                            "insert into kernels by name select * from incoming on conflict do nothing"
                        )
                    else:
                        con.execute(f"insert into {name} by name select * from incoming")  # noqa: S608  our names
    return n_copies


def _without_known_verifications(
    con: duckdb.DuckDBPyConnection, chunk: Chunk, tables: dict[str, pa.Table]
) -> dict[str, pa.Table]:
    """A result that stands in another file already is left out, with an issue that finds it again."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if (found := tables.get("verifications")) is None:
        return tables
    with frame(con, "incoming", found):
        known = con.execute(
            "select verification_id, source_id from incoming "
            "where verification_id in (select verification_id from verifications)"
        ).fetchall()
    if not known:
        return tables
    ids = pa.array([k[0] for k in known])
    paths = {f.task.source_id: f.task.path_text for f in chunk.files}
    for verification_id, source_id in known:
        con.execute(
            "insert into ingest_issues by name select ? as source_id, ? as path, 'warning' as severity, "
            "'duplicate_verification' as code, 'the result stands in another file too' as message, ? as location",
            [source_id, paths[source_id], verification_id],
        )
    kept = dict(tables)
    for name in ("verifications", "verification_checks", "verification_timings"):
        if name in kept:
            kept[name] = kept[name].filter(pc.invert(pc.is_in(kept[name]["verification_id"], value_set=ids)))
    return kept


def _upsert_sources(con: duckdb.DuckDBPyConnection, files: list[FileResult], now: datetime) -> None:
    import pyarrow as pa

    if not files:
        return
    us = pa.timestamp("us", tz="UTC")
    table = pa.table(
        {
            "source_id": [f.task.source_id for f in files],
            "path": [f.task.path_text for f in files],
            "root": [f.task.root_text for f in files],
            "format": [f.task.format for f in files],
            "content_hash": pa.array([f.content_hash for f in files], pa.string()),
            "size_bytes": pa.array([f.task.size for f in files], pa.int64()),
            "mtime": pa.array([f.task.mtime_us for f in files], pa.int64()).cast(us),
            "ingested_at": pa.array([now] * len(files), us),
            "status": [f.status for f in files],
            "n_runs": pa.array([f.n_runs for f in files], pa.int64()),
        }
    )
    with frame(con, "incoming", table):
        con.execute("delete from sources where source_id in (select source_id from incoming)")
        con.execute("insert into sources by name select * from incoming")


def _touch(con: duckdb.DuckDBPyConnection, files: list[FileResult], now: datetime) -> None:
    """The same content with another time: remember the time, so that it is not read again."""
    for f in files:
        mtime = datetime.fromtimestamp(f.task.mtime_us / 1e6, UTC)
        con.execute(
            "update sources set size_bytes = ?, mtime = ?, ingested_at = ? where source_id = ?",
            [f.task.size, mtime, now, f.task.source_id],
        )


def delete_sources(
    con: duckdb.DuckDBPyConnection, source_ids: Sequence[str], *, keep_row: bool = False
) -> None:
    """Remove everything that came from some sources."""
    import pyarrow as pa

    with frame(con, "gone", pa.table({"source_id": pa.array(source_ids, pa.string())})):
        con.execute(
            "create or replace temp table gone_runs as "
            "select run_id from runs where source_id in (select source_id from gone)"
        )
        for table in RUN_TABLES:
            con.execute(f"delete from {table} where run_id in (select run_id from gone_runs)")  # noqa: S608  our names
        con.execute("delete from runs where run_id in (select run_id from gone_runs)")
        for table in SOURCE_TABLES:
            con.execute(f"delete from {table} where source_id in (select source_id from gone)")  # noqa: S608
        if not keep_row:
            con.execute("delete from sources where source_id in (select source_id from gone)")
        con.execute("drop table gone_runs")


def prune(con: duckdb.DuckDBPyConnection, roots: Sequence[Path], present: set[str]) -> int:
    """Remove the sources under some folders whose file is gone; returns how many."""
    gone = []
    for source_id, path in con.execute("select source_id, path from sources").fetchall():
        if path in present or Path(path).exists():
            continue
        if any(Path(path).is_relative_to(scan.path_text(root)) for root in roots):
            gone.append(source_id)
    if gone:
        with transaction(con):
            delete_sources(con, gone)
    return len(gone)


def orphaned_copies(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """(path, format) of the sources of copies whose run is gone, and of results whose other file is."""
    return con.execute("""
        select distinct s.path, s.format
        from sources as s
        where s.source_id in (
            select source_id from run_copies where run_id not in (select run_id from runs)
            union
            select source_id from ingest_issues
            where code = 'duplicate_verification'
                and location not in (select verification_id from verifications)
        )
        order by all
    """).fetchall()


def root_of(con: duckdb.DuckDBPyConnection, path: str) -> str:
    """The folder under which a source was found."""
    rows = con.execute("select root from sources where path = ?", [path]).fetchall()
    return rows[0][0] if rows and rows[0][0] else str(Path(path).parent)


def collect_garbage(con: duckdb.DuckDBPyConnection) -> None:
    """Drop kernels that nothing mentions any more, copies and verifications included."""
    con.execute("""
        delete from kernels where kernel_sha256 not in (
            select kernel_sha256 from tool_calls where kernel_sha256 is not null
            union select submitted_kernel_sha256 from runs where submitted_kernel_sha256 is not null
            union select kernel_sha256 from verifications
            union select kernel_sha256 from annotations where kernel_sha256 is not null
            union select unnest(record ->> '$.tool_calls[*].kernel_sha256') from run_copies
            union select record ->> '$.run.submitted_kernel_sha256' from run_copies
                where record ->> '$.run.submitted_kernel_sha256' is not null
        )
    """)


def folder_issues(
    con: duckdb.DuckDBPyConnection, blocked: list[scan.Unwalkable], codes: Counter[str]
) -> None:
    """Folders that could not be entered, as issues without a source of their own."""
    for folder in blocked:
        path = scan.path_text(folder.path)
        codes["unreadable_folder"] += 1
        con.execute("delete from ingest_issues where path = ? and code = 'unreadable_folder'", [path])
        con.execute(
            "insert into ingest_issues by name select ? as source_id, ? as path, 'error' as severity, "
            "'unreadable_folder' as code, ? as message",
            [text_id(path, n=16), path, f"the folder cannot be entered: {folder.reason}"],
        )


def reject_named(con: duckdb.DuckDBPyConnection, found: scan.Found) -> None:
    """A file that the user named and no format claims: a rejected source with its issue."""
    path = scan.path_text(found.path)
    source_id = text_id(path, n=16)
    with transaction(con):
        delete_sources(con, [source_id])
        con.execute(
            "insert into sources by name select ? as source_id, ? as path, ? as root, ? as format, ? as size_bytes, "
            "make_timestamp(?)::timestamptz as mtime, ?::timestamptz as ingested_at, ? as status, 0 as n_runs",
            [
                source_id,
                path,
                scan.path_text(found.root),
                UNKNOWN_FORMAT,
                found.size,
                found.mtime_ns // 1000,
                datetime.now(UTC),
                REJECTED,
            ],
        )
        con.execute(
            "insert into ingest_issues by name select ? as source_id, ? as path, 'error' as severity, "
            "'unknown_format' as code, 'no format claims this file; --format names one' as message",
            [source_id, path],
        )
