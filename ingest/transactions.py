"""Small tools of whoever writes to the database."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb


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
