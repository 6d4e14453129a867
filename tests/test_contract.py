"""The typed records and the tables say the same."""

from __future__ import annotations

import types
import typing
from datetime import datetime

import msgspec
import pytest
from kbstats.ingest.rows import JSON, ROW_TYPES
from kbstats.sql import describe

TYPES = {str: "varchar", int: "bigint", float: "double", bool: "boolean", datetime: "timestamptz"}
TABLES = {t.name: t for t in describe.tables()}

# sources, run_copies, run_links and meta are the pipeline's own; the taxonomy comes from its file.
NOT_FROM_FORMATS = {"sources", "run_copies", "run_links", "meta", "failure_classes", "failure_rules"}


def sql_type(annotation: object) -> str:
    if annotation == JSON:
        return "json"
    if isinstance(annotation, types.UnionType):
        args = [a for a in typing.get_args(annotation) if a is not type(None)]
        return "varchar[]" if args == [list[str]] else TYPES[args[0]]
    return TYPES[annotation]


def test_every_table_has_a_record_or_a_reason() -> None:
    assert set(TABLES) == set(ROW_TYPES) | NOT_FROM_FORMATS


@pytest.mark.parametrize("table", ROW_TYPES)
def test_record_and_table_agree(table: str) -> None:
    row = ROW_TYPES[table]
    hints = typing.get_type_hints(row)
    fields = {f.encode_name: (sql_type(hints[f.name]), f.required) for f in msgspec.structs.fields(row)}
    columns = {c.name: c.type for c in TABLES[table].columns}
    assert {n: t for n, (t, _) in fields.items()} == columns
    required = {c.name for c in TABLES[table].columns if c.required}
    missing = {n for n in required if not fields[n][1]} - {"ordinal"}  # ordinal has a default, 0
    assert not missing


def test_every_column_is_documented() -> None:
    """The parser of the schema's comments sees as many columns as DuckDB does."""
    import duckdb
    from kbstats.sql import catalog

    con = duckdb.connect()
    catalog.create_schema(con)
    real = dict(
        con.execute(
            "select table_name, list(column_name order by column_index) from duckdb_columns() where not internal group by 1"
        ).fetchall()
    )
    assert real == {t.name: [c.name for c in t.columns] for t in describe.tables()}
