"""A lake as a database: `--db DIR`, and filling any database from one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kbstats.ingest.lake_attach import Attached
    from kbstats.ingest.pipeline import IngestSummary, Progress

OWN_NAME = "kbstats.duckdb"
"""The database that a lake carries for `--db DIR`."""


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
    from kbstats.ingest.errors import DatabaseError

    if not db.is_file():
        return None
    try:
        with contextlib.closing(warehouse.open_read(db)) as con:
            return lake_attach.attached(con)
    except DatabaseError as e:
        if "tables differ" not in e.message:
            raise
    except duckdb.Error:
        return None
    db.unlink()  # of another version: all that it holds stands in the lake
    return None


def attach(folder: Path, db: Path) -> Attached:
    """Fill a database from a lake; sources that it had from elsewhere are read again.

    Raises:
        KbstatsError: no lake, or the database holds plain ingests.
    """
    from kbstats.analytics import warehouse
    from kbstats.ingest import lake_attach, pipeline
    from kbstats.ingest.lake import Lake

    lake = Lake.open(folder)
    with contextlib.closing(warehouse.open_write(db)) as con:
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
