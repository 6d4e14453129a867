"""`kbstats audit`: which numbers cannot be true."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from kbstats.analytics.output import Column, Format, emit, example, folded, left_over, note


class By(StrEnum):
    """What the table has one row of."""

    finding = "finding"
    code = "code"
    run = "run"
    model = "model"


class Severity(StrEnum):
    """How grave a finding is."""

    error = "error"
    warning = "warning"
    info = "info"


def command(  # noqa: PLR0917  options of a command line
    code: Annotated[list[str] | None, typer.Option(help="Code of an audit; repeatable.")] = None,
    severity: Annotated[list[Severity] | None, typer.Option(help="Severity; repeatable.")] = None,
    level: Annotated[list[int] | None, typer.Option(help="Level; repeatable.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Model; repeatable.")] = None,
    sweep: Annotated[list[str] | None, typer.Option(help="Sweep; repeatable.")] = None,
    by: Annotated[By | None, typer.Option(help="One row.  [default: code in a table, finding in JSON]")] = None,
    codes: Annotated[bool, typer.Option("--codes", help="List every audit and what it looks for.")] = False,
    fail_on: Annotated[list[str] | None, typer.Option(help="Exit with 1 when this code stands; repeatable.")] = None,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
) -> None:
    """List what the audits found, and what it blocks on the audited board.

    Example: kbstats audit --by model

    Example: kbstats audit --fail-on time_travel --fail-on power_over_board
    """
    from kbstats.analytics import audit, offers, warehouse

    if codes:
        names = ("code", "severity", "blocks", "purpose")
        columns = [Column(name, name) for name in names]
        emit(audit.about(), fmt, columns if fmt is Format.table else None)
        return
    audit.check_codes(fail_on or [])
    con = warehouse.open_read(db or warehouse.default_db())
    try:
        rows = audit.findings(
            con, wanted=code or [], severities=[s.value for s in severity or []], levels=level or [],
            models=model or [], sweeps=sweep or [],
        )  # fmt: skip
        unmet = [] if rows else offers.missing(con, {"levels": level, "models": model, "sweeps": sweep})
        standing = audit.standing(con, fail_on or [], levels=level or [], models=model or [], sweeps=sweep or [])
    finally:
        con.close()
    grouping = by or (By.code if fmt in {Format.table, Format.md} else By.finding)
    for text in unmet or ([] if rows else ["no findings"]):
        note(f"kbstats: {text}")
    if rows or fmt in {Format.json, Format.csv}:
        out = rows if grouping is By.finding else audit.summed(rows, grouping.value)
        emit(out, fmt, None if fmt in {Format.json, Format.csv} else _columns(grouping, out, cut=fmt is Format.table))
    if standing:
        print(f"kbstats: findings stand: {', '.join(standing)}", file=sys.stderr)
        raise typer.Exit(1)


def _columns(by: By, rows: list[dict[str, Any]], *, cut: bool) -> list[Column]:
    if by is By.finding:
        columns = [
            Column("code", "code"),
            Column("run_id", "run", lambda v: (v or "")[:10]),
            Column("blocks", "blocks"),
        ]
        last = "message"
    else:
        name = {By.code: "code", By.run: "run_id", By.model: "model"}[by]
        count = "runs" if by is By.code else "findings"
        columns = [
            Column(name, name.removesuffix("_id"), lambda v: _name(v, by, cut=cut)),
            Column("severity", "severity"),
            Column("blocks", "blocks", lambda v: v.replace(", ", ",\n") if cut else v),
            Column(count, count, right=True),
        ]
        last = "example"
    # The text takes what the names leave, on three lines at most where it is one example of many.
    room = left_over(columns, rows)
    most = sys.maxsize if by is By.finding else 3
    title = "for example" if last == "example" else last
    return [*columns, Column(last, title, lambda v: example(v, room, most) if cut else v or "")]


def _name(v: str | None, by: By, *, cut: bool) -> str:
    """What a row stands for: of a run as many characters as other commands show, of a long name two lines."""
    if v is None or not cut or by is By.code:
        return v or "–"
    return v[:10] if by is By.run else "\n".join(folded(v, 24))
