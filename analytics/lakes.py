"""A lake as a database: `--db DIR`, and putting any database over one."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kbstats.ingest.errors import DatabaseError, KbstatsError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import duckdb
    from kbstats.ingest.lake_attach import Attached
    from kbstats.ingest.pipeline import IngestSummary, Progress

OWN_NAME = "kbstats.duckdb"
"""The database that a lake carries for `--db DIR`."""


_FOLDER = "lake_folder"
"""Key of `meta` that `ingest.lake_views` writes; that module is not loaded for a database without a lake."""
_READS = frozenset({"SELECT", "MULTI", "EXPLAIN", "PRAGMA", "CALL"})
"""Statements that a user may run where the folders of a lake are open to the connection."""


class LakeGoneError(DatabaseError):
    """What a database reads is not where it was."""


def check(con: duckdb.DuckDBPyConnection, db: Path, meta: Mapping[str, str]) -> None:
    """See that the lake which a database reads is where it was, with the parts that it had.

    Args:
        con: A connection to the database.
        db: Its file.
        meta: The rows of its table `meta`.

    Raises:
        LakeGoneError: the folder was moved or deleted, or its parts were merged into others.
    """
    if (folder := meta.get(_FOLDER)) is None:
        return
    from kbstats.ingest import lake_views
    from kbstats.ingest.lake import MARK, PARTS

    place = Path(folder)
    if not (place / MARK).is_file():
        hint = f"`kbstats lake attach DIR --db {db}` with the folder where it is now"
        raise LakeGoneError("the lake that this database reads is not there", location=place, hint=hint)
    there = {f"{p.parent.name}/{p.stem}" for p in (place / PARTS).glob("shard=*/*.json")}
    if not lake_views.parts_of(con) <= there:
        hint = f"`kbstats lake attach {place} --db {db}` reads it as it is now"
        raise LakeGoneError("the lake has changed since this database was put over it", location=place, hint=hint)


def let_in(con: duckdb.DuckDBPyConnection, meta: Mapping[str, str]) -> None:
    """Let a connection that is about to be sealed read the files of its lake."""
    if (folder := meta.get(_FOLDER)) is not None:
        from kbstats.ingest.lake_views import VIEWED

        con.execute("set allowed_directories = $1", [[f"{folder}/{table}" for table in VIEWED]])


def refuse_alone(con: duckdb.DuckDBPyConnection) -> None:
    """Refuse to give the file of a database away whose traces are not in it.

    Raises:
        UsageError: the database reads a lake.
    """
    from kbstats.ingest.errors import UsageError

    if con.execute("select 1 from meta where key = $1", [_FOLDER]).fetchall():
        raise UsageError(
            "the traces of this database are in a lake, not in its file",
            location="--include-db",
            hint="ingest them into a database of their own",
        )


def keep_out(con: duckdb.DuckDBPyConnection, text: str, kind: str) -> None:
    """Refuse a statement of a user's that could write into the folders that `let_in` has opened.

    Raises:
        KbstatsError: it is no query, or one that explains the writing of a file by doing it.
    """
    if not con.execute("select current_setting('allowed_directories')").fetchall()[0][0]:
        return
    writes = kind == "EXPLAIN" and re.search(r"\b(?:copy|export)\b", text, re.IGNORECASE)
    if kind not in _READS or writes:
        raise KbstatsError("the query failed: only queries are taken, nothing that writes")


def database_of(path: Path) -> Path:
    """The database that a path means: itself, or for a lake's folder the lake's own, brought up to date first.

    Raises:
        KbstatsError: the lake cannot be read.
        DatabaseError: its database is in use by another process.
    """
    if not path.is_dir():
        return path
    from kbstats.ingest.lake import MARK, Lake
    from kbstats.ingest.lake_attach import state

    if not (path / MARK).is_file():
        return path
    lake = Lake.open(path)
    own = path / OWN_NAME
    if _state_of(own) != state(lake, lake.parts()):
        attach(path, own)
    return own


def _state_of(db: Path) -> str | None:
    """Which state of a lake a database was filled from; None when that cannot be told."""
    import duckdb
    from kbstats.analytics import warehouse
    from kbstats.ingest import lake_attach

    if not db.is_file():
        return None
    try:
        with contextlib.closing(warehouse.open_read(db)) as con:
            return lake_attach.attached(con)
    except LakeGoneError:
        return None
    except DatabaseError as e:
        if "tables differ" not in e.message:
            raise
    except duckdb.Error:
        return None
    db.unlink()  # of another version: all that it holds stands in the lake
    return None


def attach(folder: Path, db: Path) -> Attached:
    """Put a database over a lake; sources that it had from elsewhere are read again.

    Raises:
        KbstatsError: no lake, or the database holds plain ingests.
    """
    from kbstats.analytics import warehouse
    from kbstats.ingest import lake_attach, pipeline
    from kbstats.ingest.lake import Lake

    lake = Lake.open(folder)
    with contextlib.closing(warehouse.open_write(db, models=False, lake=False)) as con:
        done = lake_attach.attach(con, lake)
        if done.elsewhere:
            pipeline.ingest(con, done.elsewhere)
        warehouse.refresh(con)
    return done


class Given(NamedTuple):
    """What is to be read, and how."""

    paths: Sequence[Path]
    format: str | None
    map_file: Path | None
    workers: int
    prune: bool


def ingest(
    given: Given, lake: Path | None, shard: str | None, *, progress: Callable[[Progress], None] | None = None
) -> IngestSummary:
    """Decode one share of the files into a lake, in this process.

    Raises:
        UsageError: a share without a lake, or words that are no share.
    """
    from kbstats.ingest import lake_write
    from kbstats.ingest.errors import UsageError
    from kbstats.ingest.lake import Shard

    if lake is None:
        raise UsageError("--shard writes into a lake", hint="name its folder with --lake DIR")
    return lake_write.ingest_shard(
        given.paths,
        lake,
        Shard.parse(shard or "0/1"),
        format=given.format,
        map_file=given.map_file,
        workers=given.workers,
        prune=given.prune,
        progress=progress,
    )


def spread(  # noqa: PLR0917  what the command line says
    given: Given,
    lake: Path | None,
    db: Path,
    engine: str,
    shards: int | None,
    engine_options: Sequence[str],
    *,
    shard: str | None = None,
) -> IngestSummary:
    """Decode all files in shards on an engine; without `lake` into one beside the database, which is then filled.

    Raises:
        UsageError: there is no such engine, or what it needs is not installed.
        KbstatsError: a shard was lost in every try.
    """
    from kbstats.analytics import executors
    from kbstats.analytics.executors import ingesting
    from kbstats.ingest.errors import UsageError

    if shard is not None:
        raise UsageError("--shard is one share, --engine runs all of them", hint="--shards says how many")
    folder = lake or db.with_name(db.name + ".lake")
    workers = given.workers if given.workers > 1 else executors.default_workers()
    jobs = folder.with_name(folder.name + ".jobs").resolve()
    made = executors.load(engine, executors.Settings(workers, 0, jobs, executors.settings_of(engine_options)))
    try:
        summary = ingesting.ingest(
            made,
            given.paths,
            folder,
            shards or workers,
            format=given.format,
            map_file=given.map_file,
            prune=given.prune,
        )
    finally:
        made.shutdown()
    if lake is None:
        attach(folder, db)
    return summary
