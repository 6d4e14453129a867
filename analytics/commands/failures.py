"""`kbstats failures`: why the rest failed."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from kbstats.analytics.output import (
    Column,
    Format,
    emit,
    example,
    folded,
    left_over,
    note,
    number,
    plain,
    plain_line,
    to_json,
)
from kbstats.ingest.errors import UsageError

if TYPE_CHECKING:
    import duckdb


class By(StrEnum):
    """What the table has one row of."""

    cls = "class"
    owner = "owner"
    model = "model"
    problem = "problem"
    sweep = "sweep"
    tool = "tool"


def command(  # noqa: C901, PLR0912, PLR0917  options of a command line
    by: Annotated[By, typer.Option(help="One row of the table.")] = By.cls,
    level: Annotated[list[int] | None, typer.Option(help="Level; repeatable.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Model; repeatable.")] = None,
    sweep: Annotated[list[str] | None, typer.Option(help="Sweep; repeatable.")] = None,
    runs: Annotated[bool, typer.Option("--runs", help="List failed runs with the words that decided.")] = False,
    patterns: Annotated[bool, typer.Option("--patterns", help="Failures of whole sweeps.")] = False,
    paths: Annotated[
        bool,
        typer.Option("--paths", help="States, turns lost, recovery, repeats, tools, edits; best speedup by turn."),
    ] = False,
    unclassified: Annotated[bool, typer.Option("--unclassified", help="Print the texts that no class names.")] = False,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
) -> None:
    """Count failures by class, owner, model, problem, sweep or tool; or say what they cost.

    Example: kbstats failures --by owner --level 3
    """
    from kbstats.analytics import failures, offers, warehouse

    if sum((runs, patterns, paths, unclassified)) > 1:
        raise UsageError("--runs, --patterns, --paths and --unclassified are four different tables: ask for one")
    if (paths or patterns) and level:
        raise UsageError("--patterns and --paths are not kept by level", hint="leave --level out")
    if paths and sweep:
        raise UsageError("--paths are kept by model", hint="leave --sweep out")
    con = warehouse.open_read(db or warehouse.default_db())
    try:
        if paths:
            _paths(con, model, fmt)
            for text in offers.missing(con, {"models": model}):
                note(f"kbstats: {text}")
            return
        if runs:
            rows = failures.failed_runs(con, levels=level, models=model, sweeps=sweep)
        elif patterns:
            rows = failures.patterns(con, models=model, sweeps=sweep)
        elif unclassified:
            rows = failures.unclassified(con, levels=level, models=model, sweeps=sweep)
        else:
            rows = failures.summary(con, by=by.value, levels=level, models=model, sweeps=sweep)
        unmet = [] if rows else offers.missing(con, {"levels": level, "models": model, "sweeps": sweep})
    finally:
        con.close()
    for text in unmet:
        note(f"kbstats: {text}")
    if not rows:
        if not unmet:
            print("kbstats: nothing unclassified" if unclassified else "kbstats: no failures", file=sys.stderr)
        if fmt in {Format.table, Format.md}:
            return
    if unclassified and fmt is Format.table:
        for r in rows:
            place = "" if r["turn"] is None else f" turn {r['turn']} call {r['seq']}"
            print(plain_line(f"--- {r['run_id']}{place} {r['tool']}"))
            print(plain(r["text"] or ""))
        return
    if patterns and fmt in {Format.table, Format.md}:
        rows = [_pattern(r) for r in rows]
    emit(rows, fmt, None if unclassified else _people_see(by, rows, fmt, runs=runs, patterns=patterns))


def _people_see(by: By, rows: list[dict[str, Any]], fmt: Format, *, runs: bool, patterns: bool) -> list[Column]:
    if runs:
        return _run_columns(rows, fmt)
    return _PATTERNS if patterns else _columns(by)


def _pattern(r: dict[str, Any]) -> dict[str, Any]:
    where = r["model"] + (f" in {r['sweep']}" if r["sweep"] else "")
    return {**r, "_where": where, "_runs": f"{r['n']} of {r['n_runs']}"}


def _one_line(v: str | None) -> str:
    return " ".join((v or "").split())


def _run_columns(rows: list[dict[str, Any]], fmt: Format) -> list[Column]:
    """On a terminal the words that decided take what the names leave, on three lines at most."""
    cut = fmt is Format.table
    columns = [
        Column("run_id", "run", lambda v: v[:10]),
        Column("model", "model", lambda v: "\n".join(folded(v or "–", 16)) if cut else v or "–"),
        Column("failure_class", "class", lambda v: "\n".join(folded(v, 20)) if cut else v),
    ]
    room = left_over(columns, rows)

    def words(v: str | None) -> str:
        return example(_one_line(v), room) if cut else _one_line(v)

    return [*columns, Column("evidence", "evidence", words)]


_PATTERNS = [
    # Two columns of long names would leave neither room.
    Column("_where", "model in sweep"),
    Column("failure_class", "class"),
    Column("_runs", "runs", right=True),
    Column("longest_streak", "in a\nrow", right=True),
    Column("invalid", "sweep", lambda v: "invalid" if v else ""),
]
_percent = number(0, scale=100)
_PATHS = {
    "transitions": ("Where a turn leads", [
        Column("previous_state", "from"), Column("state", "to"), Column("n", "turns", right=True),
    ]),
    "costs": ("Turns lost to each class, and runs that got over it", [
        Column("failure_class", "class"), Column("turns_lost", "turns", right=True),
        Column("n_runs", "runs", right=True),
        Column("recovery_rate", "recovered\n%", _percent, right=True),
        Column("median_turns_to_recover", "turns to\nrecover", number(1), right=True),
    ]),
    "repeats": ("The same error again on the same kernel", [
        Column("failure_class", "class"), Column("tool", "tool"), Column("kernels", "kernels", right=True),
        Column("repeats", "repeats", right=True),
    ]),
    "tools": ("Tools, and runs with a pass among those that used them", [
        Column("tool", "tool"), Column("n_runs", "runs", right=True), Column("n_calls", "calls", right=True),
        Column("before_first_pass", "before the\nfirst pass", right=True),
        Column("pass_rate", "passed\n%", _percent, right=True),
    ]),
    "edits": ("Changes from one kernel to the next (median)", [
        Column("model", "model"), Column("edits", "edits", right=True),
        Column("median_lines_added", "lines\nadded", number(0), right=True),
        Column("median_lines_removed", "lines\nremoved", number(0), right=True),
        Column("median_share_changed", "changed\n%", _percent, right=True),
    ]),
    "anytime": ("After so many turns", [
        Column("model", "model"), Column("turns_used", "turns", right=True), Column("n_runs", "runs", right=True),
        Column("share_passed", "passed\n%", _percent, right=True),
        Column("geomean_best_speedup", "best speedup\nso far", number(2), right=True),
    ]),
}  # fmt: skip


def _paths(con: duckdb.DuckDBPyConnection, models: list[str] | None, fmt: Format) -> None:
    from kbstats.analytics.paths import paths

    found = paths(con, models=models)
    if fmt is Format.json:
        print(to_json(found))
        return
    if not found["transitions"]:
        print("kbstats: no run here kept its tool calls", file=sys.stderr)
    for name, (title, columns) in _PATHS.items():
        if rows := found[name]:
            print(f"# {title}" if fmt is not Format.table else f"\n{title}")
            emit(rows, fmt, columns)


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
