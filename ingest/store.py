"""What the pipeline does to the database: one transaction a chunk, rows of a changed source replaced."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kbstats.ingest import changes, copies, lake_views, readers, scan, versions
from kbstats.ingest.batch import REJECTED
from kbstats.ingest.hashing import text_id
from kbstats.ingest.transactions import frame, transaction
from kbstats.ingest.versions import RUN_TABLES, SOURCE_TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    import pyarrow as pa
    from kbstats.ingest.decoding import Chunk, FileResult

_NEW_KERNELS = "incoming where kernel_sha256 not in (select kernel_sha256 from kernels)"
"""Not by `on conflict`, which takes twice the time."""

_UNMENTIONED = """kernel_sha256 not in (
    select kernel_sha256 from tool_calls where kernel_sha256 is not null
    union select submitted_kernel_sha256 from runs where submitted_kernel_sha256 is not null
    union select kernel_sha256 from verifications
    union select kernel_sha256 from annotations where kernel_sha256 is not null
    union select unnest(record ->> '$.tool_calls[*].kernel_sha256') from run_copies
    union select record ->> '$.run.submitted_kernel_sha256' from run_copies
        where record ->> '$.run.submitted_kernel_sha256' is not null
)"""

UNKNOWN_FORMAT = "unknown"
"""The format of a source that the user named and no format claims."""


class Known(NamedTuple):
    """A source on record."""

    format: str
    content_hash: str | None
    size: int
    mtime_us: int
    ingested_us: int

    def unsure(self, window_us: int) -> bool:
        """Size and time do not tell that it is as it was read.

        It was read so soon after its change that another change may hide behind the same time, or
        by other readers.
        """
        return self.content_hash == readers.AGAIN or self.ingested_us - self.mtime_us < window_us


def sources(con: duckdb.DuckDBPyConnection) -> dict[str, Known]:
    """All sources on record, by path."""
    rows = con.execute(
        "select path, format, content_hash, size_bytes, epoch_us(mtime), epoch_us(ingested_at) from sources"
    ).fetchall()
    return {r[0]: Known(r[1], r[2], r[3] or 0, r[4] or 0, r[5]) for r in rows}


def mark_stale(con: duckdb.DuckDBPyConnection) -> None:
    """Say, in the transaction that changes tables, that links and stored models do not follow yet.

    Whoever brings them up to date takes the mark away, so that an ingest that was stopped half way
    is finished by the next command that opens the database.
    """
    con.execute("insert or replace into meta values ('derived', 'stale')")


def write(con: duckdb.DuckDBPyConnection, chunk: Chunk, now: datetime) -> int:
    """Put one chunk into the tables, in a transaction of its own; see `put`."""
    with transaction(con):
        return put(con, chunk, now)


def put(con: duckdb.DuckDBPyConnection, chunk: Chunk, now: datetime) -> int:
    """Put one chunk into the tables, within the caller's transaction; the old rows of its sources go.

    Returns:
        How many of its runs stand in `run_copies`, because another source has the same run.
    """
    fresh = [f for f in chunk.files if not f.unchanged]
    if "runs" in chunk.tables:
        lake_views.refuse_traces(con)
    kept = versions.kept(con, chunk)
    touched = [f for f in chunk.files if f.unchanged]
    if fresh or any(f.gone for f in chunk.files):
        mark_stale(con)
    if known := [f.task.source_id for f in fresh if f.task.known and f.task.source_id not in kept]:
        delete_sources(con, known, keep_row=True)
    if gone := [source_id for f in chunk.files for source_id in f.gone]:
        delete_sources(con, gone)
    _upsert_sources(con, fresh, now, kept)
    for f in fresh:
        if f.task.source_id in kept:
            versions.note(con, f.task.source_id, f.task.path_text, kept[f.task.source_id].why)
    _touch(con, touched, now)
    return insert(con, versions.without(chunk, kept))


def insert(con: duckdb.DuckDBPyConnection, chunk: Chunk) -> int:
    """Insert a chunk's rows, beside its sources': the part of `put` that decides who of two is the run.

    Returns:
        How many of its runs stand in `run_copies`.
    """
    tables, n_copies = copies.resolve(con, chunk)
    tables = _without_known_verifications(con, chunk, tables)
    for name, table in tables.items():
        if table.num_rows:
            with frame(con, "incoming", table):
                _insert(con, name)
    return n_copies


def _insert(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """The rows of `incoming` into a table; what they change is noted."""
    if name == "kernels":
        changes.kernels(con, f"select kernel_sha256 from {_NEW_KERNELS}")  # noqa: S608
        into = f"{lake_views.OWN}.kernels" if lake_views.attached(con) else "kernels"
        con.execute(f"insert into {into} by name select * from {_NEW_KERNELS}")  # noqa: S608  our names
        return
    con.execute(f"insert into {name} by name select * from incoming")  # noqa: S608  our names
    if name == "runs":
        changes.runs(con, "select run_id from incoming", 1)
    elif name == "problems":
        changes.problems(con, "select source_id from incoming", 1)


def _without_known_verifications(
    con: duckdb.DuckDBPyConnection, chunk: Chunk, tables: dict[str, pa.Table]
) -> dict[str, pa.Table]:
    """A result that stands in another file already is left out, with an issue that finds it again."""
    if (found := tables.get("verifications")) is None:
        return tables
    with frame(con, "incoming", found):
        known = con.execute(
            "select verification_id, source_id from incoming "
            "where verification_id in (select verification_id from verifications)"
        ).fetchall()
    if not known:
        return tables
    import pyarrow as pa
    import pyarrow.compute as pc

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


def _upsert_sources(
    con: duckdb.DuckDBPyConnection, files: list[FileResult], now: datetime, kept: dict[str, versions.Kept]
) -> None:
    import pyarrow as pa

    if not files:
        return
    us = pa.timestamp("us", tz="UTC")
    table = pa.table(
        {
            "source_id": [f.task.source_id for f in files],
            "path": [f.task.path_text for f in files],
            "root": [f.task.root_text for f in files],
            "format": [_of(kept, f).format for f in files],
            "content_hash": pa.array([f.content_hash for f in files], pa.string()),
            "size_bytes": pa.array([f.task.size for f in files], pa.int64()),
            "mtime": pa.array([f.task.mtime_us for f in files], us),  # a cast would load pyarrow.compute
            "ingested_at": pa.array([now] * len(files), us),
            "status": [f.status for f in files],
            "n_runs": pa.array([_of(kept, f).n_runs for f in files], pa.int64()),
        }
    )
    with frame(con, "incoming", table):
        con.execute("delete from sources where source_id in (select source_id from incoming)")
        con.execute("insert into sources by name select * from incoming")


def _of(kept: dict[str, versions.Kept], f: FileResult) -> versions.Kept:
    """What the row of a source says: of its new version, or of the old one whose rows stay."""
    return kept.get(f.task.source_id) or versions.Kept(f.task.format, f.n_runs, "")


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
        changes.runs(con, "select run_id from gone_runs", -1)
        changes.problems(con, "select source_id from gone", -1)
        if count(con, "gone_runs"):
            lake_views.refuse_traces(con)
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
            mark_stale(con)
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
    if lake_views.attached(con):
        lake_views.collect_garbage(con, _UNMENTIONED)
    else:
        con.execute(f"delete from kernels where {_UNMENTIONED}")  # noqa: S608  our own words


def count(con: duckdb.DuckDBPyConnection, table: str) -> int:
    """How many rows a table has."""
    n: int = con.execute(f"select count(*) from {table}").fetchall()[0][0]  # noqa: S608  our names
    return n


def reject(con: duckdb.DuckDBPyConnection, found: scan.Found, unreadable: str | None = None) -> None:
    """A file that the user named and no format claims, or that cannot be looked at: a rejected source with its issue.

    Args:
        con: The connection that writes.
        found: The file.
        unreadable: Why it cannot be looked at, if that is so.
    """
    code, message = "unknown_format", "no format claims this file; --format names one"
    if unreadable:
        code, message = "unreadable", f"the file cannot be read: {unreadable}"
    path = scan.path_text(found.path)
    source_id = text_id(path, n=16)
    with transaction(con):
        if versions.with_rows(con, [source_id]):  # of a format that is not installed any more
            versions.note(con, source_id, path)
            con.execute("update sources set status = ? where source_id = ?", [REJECTED, source_id])
        else:
            delete_sources(con, [source_id])
            _unknown(con, source_id, found)
        con.execute(
            "insert into ingest_issues by name select ? as source_id, ? as path, 'error' as severity, "
            "? as code, ? as message",
            [source_id, path, code, message],
        )


def _unknown(con: duckdb.DuckDBPyConnection, source_id: str, found: scan.Found) -> None:
    con.execute(
        "insert into sources by name select ? as source_id, ? as path, ? as root, ? as format, ? as size_bytes, "
        "make_timestamp(?)::timestamptz as mtime, ?::timestamptz as ingested_at, ? as status, 0 as n_runs",
        [
            source_id,
            scan.path_text(found.path),
            scan.path_text(found.root),
            UNKNOWN_FORMAT,
            found.size,
            found.mtime_ns // 1000,
            datetime.now(UTC),
            REJECTED,
        ],
    )
