"""The failure taxonomy: `data/failure_classes.toml` into the tables that the SQL models read."""

from __future__ import annotations

import functools
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb


@functools.cache
def raw() -> bytes:
    """The file's bytes; part of the hash that tells whether a database's models are current."""
    return files("kbstats.data").joinpath("failure_classes.toml").read_bytes()


@functools.cache
def classes() -> tuple[dict[str, Any], ...]:
    """Failure classes in the order in which their rules are tried."""
    return tuple(tomllib.loads(raw().decode("utf-8"))["class"])


def load(con: duckdb.DuckDBPyConnection) -> None:
    """Fill `failure_classes` and `failure_rules` anew."""
    con.execute("delete from failure_rules")
    con.execute("delete from failure_classes")
    for c in classes():
        con.execute(
            "insert into failure_classes values (?, ?, ?, ?, ?)",
            [c["id"], c["title"], c["owner"], c.get("meaning"), c.get("advice")],
        )
