"""The data dictionary: tables and columns as the schema files document them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from kbstats.sql.catalog import sql_files

_COLUMN = re.compile(r"\s+(?P<name>[a-z_][a-z0-9_]*) (?P<type>[a-z\[\]]+)(?P<rest>[^,-]*),?\s*--\s*(?P<text>.+)")


@dataclass(frozen=True)
class ColumnDoc:
    """A column of a table: its name, its DuckDB type and what it holds."""

    name: str
    type: str
    required: bool
    text: str


@dataclass(frozen=True)
class TableDoc:
    """A table: purpose, grain (what one row is, and its key) and columns in order."""

    name: str
    purpose: str
    grain: str
    columns: tuple[ColumnDoc, ...]


@functools.cache
def tables() -> tuple[TableDoc, ...]:
    """Every table of the schema, by name."""
    found = []
    for f in sql_files("schema"):
        columns = tuple(
            ColumnDoc(m["name"], m["type"], "not null" in m["rest"] or "primary key" in m["rest"], m["text"].strip())
            for line in f.sql.splitlines()
            if (m := _COLUMN.fullmatch(line))
        )
        found.append(TableDoc(f.name, f.header["purpose"], f.header["grain"], columns))
    return tuple(found)
