"""A lake as a database: `--db DIR`, and filling any database from one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.lake_attach import Attached

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
