"""`kbstats failures`: why the rest failed."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from kbstats.analytics.output import Column, Format, emit, plain


class By(StrEnum):
    """What the table has one row of."""

    cls = "class"
    owner = "owner"
    model = "model"
    problem = "problem"
    tool = "tool"


def command(  # noqa: PLR0917  options of a command line
    by: Annotated[By, typer.Option(help="One row of the table.")] = By.cls,
    level: Annotated[list[int] | None, typer.Option(help="Level; repeatable.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Model; repeatable.")] = None,
    sweep: Annotated[list[str] | None, typer.Option(help="Sweep; repeatable.")] = None,
    unclassified: Annotated[bool, typer.Option("--unclassified", help="Print the texts that no class names.")] = False,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
) -> None:
    """Count failures by class, owner, model, problem or tool.

    Example: kbstats failures --by owner --level 3
    """
    from kbstats.analytics import failures, warehouse

    con = warehouse.open_read(db or warehouse.default_db())
    filters = {"levels": level, "models": model, "sweeps": sweep}
    try:
        rows = (
            failures.unclassified(con, **filters)  # type: ignore[arg-type]
            if unclassified
            else failures.summary(con, by=by.value, **filters)  # type: ignore[arg-type]
        )
    finally:
        con.close()
    if not rows:
        print("kbstats: nothing unclassified" if unclassified else "kbstats: no failures", file=sys.stderr)
        if fmt in {Format.table, Format.md}:
            return
    if unclassified and fmt is Format.table:
        for r in rows:
            print(plain(f"--- {r['run_id']} turn {r['turn']} call {r['seq']} {r['tool']}"))
            print(plain(r["text"] or ""))
        return
    emit(rows, fmt, None if unclassified else _columns(by))


def _columns(by: By) -> list[Column]:
    columns = [
        Column(by.value, by.value),
        Column("tool_results", "calls", right=True),
        Column("runs_ended", "runs", right=True),
        Column("models", "models", right=True),
    ]
    if by is By.cls:
        columns.insert(1, Column("owner", "owner", lambda v: v or "–"))
        columns[-1] = Column("title", "what", lambda v: v or "")
    else:
        columns.append(Column("commonest", "commonest", lambda v: v or "–"))
    return columns
