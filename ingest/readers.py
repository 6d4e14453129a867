"""Whether what is on record was read by these very readers: by other rules, it is read again.

A column may be decided while a file is read: the class of a diagnostic, a metric, a time-out. So a
version of kbstats that reads otherwise reads each file again when an ingest next comes by it.
"""

from __future__ import annotations

import functools
import os
from importlib.resources import files
from typing import TYPE_CHECKING

import xxhash
from kbstats.ingest import registry
from kbstats.ingest.transactions import transaction

if TYPE_CHECKING:
    import duckdb

_KEY = "readers"
AGAIN = ""
"""The content hash of a source that is to be read again whatever its file looks like."""


@functools.cache
def fingerprint() -> str:
    """A hash of all that decides what is read: the modules of `kbstats.ingest`, the classes of failures, plug-ins."""
    h = xxhash.xxh3_128()
    here = os.path.dirname(__file__)  # noqa: PTH120  a hundred files: Path costs more than reading them
    for folder in (here, os.path.join(here, "formats")):  # noqa: PTH118
        with os.scandir(folder) as it:
            own = sorted((e.name, e.path) for e in it if e.name.endswith(".py"))
        for name, path in own:
            h.update(name.encode())
            with open(path, "rb", buffering=0) as f:  # noqa: PTH123
                h.update(f.read())
    h.update(files("kbstats.data").joinpath("failure_classes.toml").read_bytes())
    for name in registry.names():
        if not registry.is_built_in(name):
            h.update(registry.version_of(name).encode())
    return h.hexdigest()


def note(con: duckdb.DuckDBPyConnection, readers: str) -> None:
    """Say who read what the tables hold: a fingerprint, or an empty text for several."""
    con.execute("insert or replace into meta values (?, ?)", [_KEY, readers])


def check(con: duckdb.DuckDBPyConnection) -> None:
    """Mark all sources to be read again, if others read them."""
    found = con.execute("select value from meta where key = ?", [_KEY]).fetchall()
    if found == [(fingerprint(),)]:
        return
    with transaction(con):
        con.execute("update sources set content_hash = ? where content_hash is not null", [AGAIN])
        note(con, fingerprint())
