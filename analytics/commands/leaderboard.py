"""`kbstats leaderboard`: who is how good."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from kbstats.analytics.output import Column, Format, emit, number, width
from kbstats.ingest.errors import UsageError


class Trust(StrEnum):
    """How much evidence a number needs to count."""

    claimed = "claimed"
    audited = "audited"
    verified = "verified"


class By(StrEnum):
    """What the board has one row of."""

    model = "model"
    problem = "problem"
    run = "run"
    mode = "mode"
    sweep = "sweep"
    level = "level"
    variant = "variant"
    suite = "suite"
    harness = "harness"
    hardware = "hardware"
    backend = "backend"


def command(  # noqa: PLR0917  options of a command line
    level: Annotated[list[int] | None, typer.Option(help="Level; repeatable.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Problem variant; `original` is the level itself.")] = None,
    suite: Annotated[list[str] | None, typer.Option(help="Suite; repeatable.")] = None,
    sweep: Annotated[list[str] | None, typer.Option(help="Sweep (run name); repeatable.")] = None,
    mode: Annotated[list[str] | None, typer.Option(help="Tool tier; repeatable.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Model, by alias or as the source has it.")] = None,
    hardware: Annotated[list[str] | None, typer.Option(help="GPU of the claim: its name, or just H100.")] = None,
    backend: Annotated[list[str] | None, typer.Option(help="Backend; repeatable.")] = None,
    precision: Annotated[list[str] | None, typer.Option(help="Precision; repeatable.")] = None,
    by: Annotated[By, typer.Option(help="One row of the board.")] = By.model,
    trust: Annotated[Trust, typer.Option(help="What counts: claims, audited or re-run ones.")] = Trust.claimed,
    verified_on: Annotated[str | None, typer.Option(help="GPU of a verified board.  [default: most results]")] = None,
    baseline: Annotated[str | None, typer.Option(help="Fill in speedups by this reference timing: eager …")] = None,
    sort: Annotated[str, typer.Option(help="First key of the order: a JSON column.")] = "fast_1",
    p: Annotated[str, typer.Option("--p", help="Speedups p for fast_p, with commas.")] = "0,1,2",
    min_coverage: Annotated[float, typer.Option(min=0, max=1, help="Least share of the problems attempted.")] = 0.0,
    exclude_infra: Annotated[bool, typer.Option(help="Take out runs failed by harness or infrastructure.")] = False,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
) -> None:
    """Rank models (or problems, runs, sweeps …) by what they got right and fast.

    Example: kbstats leaderboard --level 3 --trust audited
    """
    from kbstats.analytics import leaderboards, warehouse

    ps = _numbers(p)
    if sort not in leaderboards.sort_keys(ps):
        raise UsageError(f"no column {sort!r} to sort by", hint=", ".join(leaderboards.sort_keys(ps)))
    filters = leaderboards.Filters(
        levels=level or [], variants=variant or [], suites=suite or [], sweeps=sweep or [], modes=mode or [],
        models=model or [], hardwares=hardware or [], backends=backend or [], precisions=precision or [],
        trust=trust.value, verified_on=verified_on, baseline=baseline, exclude_infra=exclude_infra,
    )  # fmt: skip
    con = warehouse.open_read(db or warehouse.default_db())
    try:
        found = leaderboards.board(con, filters, by=by.value, sort=sort, ps=ps, min_coverage=min_coverage)
    finally:
        con.close()
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)
    if not found.rows:
        print("kbstats: no runs: the database is empty, or the filters leave nothing", file=sys.stderr)
        if fmt in {Format.table, Format.md}:
            return
    if fmt in {Format.json, Format.csv}:
        emit(found.rows, fmt)
    else:
        shown, columns = _for_people(by, trust, found.rows, ps)
        emit(shown, fmt, columns)


def _numbers(text: str) -> list[float]:
    import math

    try:
        ps = [float(t) for t in text.split(",") if t.strip()]
    except ValueError:
        ps = [math.nan]
    if not ps or not all(math.isfinite(v) and v >= 0 for v in ps):
        raise UsageError(f"--p takes numbers from 0 on with commas between them, not {text!r}")
    return ps


def _speed(v: Any) -> str:
    """A speedup in the fewest characters that keep three figures."""
    if v is None:
        return "–"
    if v >= 10_000:
        return f"{v:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{v:.2f}" if v < 10 else f"{v:.1f}" if v < 100 else f"{v:.0f}"


def _range(lo: Any, hi: Any) -> str:
    return "" if lo is None else f" [{_speed(lo)}–{_speed(hi)}]"


def _for_people(
    by: By, trust: Trust, rows: list[dict[str, Any]], ps: list[float]
) -> tuple[list[dict[str, Any]], list[Column]]:
    """Rows with the cells that join several fields, and the columns that fit the width."""
    if by is By.run:
        return _run_columns(rows)
    from kbstats.analytics.leaderboards import p_name

    percent = number(1, scale=100)
    shown = [{**r, "_geomean": _speed(r["geomean_speedup"]) + _range(r["geomean_lo"], r["geomean_hi"])} for r in rows]
    columns = [
        Column("rank", "#", right=True),
        Column(by.value, by.value),
        Column("n", "n", right=True),
        Column("correct_rate", "corr.\n%", percent, right=True),
        *(Column(p_name(v), f"fast_\n{v:g} %", percent, right=True) for v in ps if v != 0),
    ]
    if by is By.problem:
        shown = [{**r, "_level": f"L{r['level']} P{r['problem_id']}"} for r in shown]
        columns.insert(1, Column("_level", "level"))
        columns.append(Column("best_speedup", "best", _speed, right=True))
        columns.append(Column("best_model", "by", lambda v: v or "–"))
        return shown, _fitting(columns, shown, optional=("fast_2", "n", "best_model"))
    columns += [
        Column("_geomean", "geomean\nspeedup [95 %]", right=True),
        Column("median_speedup", "med-\nian", _speed, right=True),
        # A claim is withdrawn only where more than the claim is asked for.
        *([Column("withdrawn", "with-\ndrawn", right=True)] if trust is not Trust.claimed else []),
        Column("flagged", "flag-\nged", right=True),
        Column("verified", "veri-\nfied", right=True),
    ]
    return shown, _fitting(columns, shown, optional=("flagged", "median_speedup", "fast_2", "verified", "withdrawn"))


def _fitting(columns: list[Column], rows: list[dict[str, Any]], optional: tuple[str, ...]) -> list[Column]:
    """Leave out optional columns until the table fits: names are never cut."""

    def wide(c: Column) -> int:
        head = max(len(line) for line in c.title.split("\n"))
        return 2 + max([head, *(len(c.show(r.get(c.key))) for r in rows)])

    for key in optional:
        if sum(map(wide, columns)) - 2 < width():
            break
        columns = [c for c in columns if c.key != key]
    return columns


def _run_columns(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Column]]:
    shown = [{**r, "_problem": f"L{r['level']} P{r['problem_id']}"} for r in rows]
    columns = [
        Column("rank", "#", lambda v: "–" if v is None else str(v), right=True),
        Column("run_id", "run", lambda v: v[:10]),
        Column("model", "model"),
        Column("_problem", "problem"),
        Column("speedup", "speedup", _speed, right=True),
        Column("outcome", "outcome"),
        Column("reason", "does not count:"),
        Column("mode", "mode"),
    ]
    return shown, _fitting(columns, shown, optional=("mode", "outcome"))
