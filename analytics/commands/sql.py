"""`kbstats sql`: one read-only query against the warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from kbstats.analytics.output import Format, emit, rows_of
from kbstats.ingest.errors import KbstatsError


def command(
    query: Annotated[str, typer.Argument(help="A query; `-` reads it from standard input.")],
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
) -> None:
    """Run one query, read-only and without access to any other file.

    Example: kbstats sql "select model, count(*) as n from runs group by all order by n desc"
    """
    import sys

    import duckdb
    from kbstats.analytics import warehouse

    text = sys.stdin.read() if query == "-" else query
    con = warehouse.open_read(db or warehouse.default_db(), sealed=True)
    try:
        result = con.execute(warehouse.one_statement(con, text))
        records = rows_of(result) if result.description else []
    except duckdb.Error as e:
        raise KbstatsError(f"the query failed: {warehouse.said(e)}", hint="tables and columns: docs/tables.md") from e
    finally:
        con.close()
    if not records:
        print("kbstats: 0 rows", file=sys.stderr)
    emit(records, fmt)
