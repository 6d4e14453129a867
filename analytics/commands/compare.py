"""`kbstats compare`: two models, modes or sweeps on the problems that both ran."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from kbstats.analytics.commands.leaderboard import Trust, baseline_of
from kbstats.analytics.output import Column, Format, emit, note, number, place, plain_line, to_json


class Side(StrEnum):
    """What is compared."""

    model = "model"
    mode = "mode"
    sweep = "sweep"


def command(  # noqa: PLR0917  options of a command line
    a: Annotated[str, typer.Argument(help="A model, mode or sweep.")],
    b: Annotated[str, typer.Argument(help="Another one.")],
    by: Annotated[Side, typer.Option(help="What the two names are.")] = Side.model,
    level: Annotated[list[int] | None, typer.Option(help="Level; repeatable.")] = None,
    variant: Annotated[list[str] | None, typer.Option(help="Problem variant; repeatable.")] = None,
    suite: Annotated[list[str] | None, typer.Option(help="Suite; repeatable.")] = None,
    sweep: Annotated[list[str] | None, typer.Option(help="Sweep; repeatable.")] = None,
    mode: Annotated[list[str] | None, typer.Option(help="Tool tier; repeatable.")] = None,
    model: Annotated[list[str] | None, typer.Option(help="Model; repeatable.")] = None,
    hardware: Annotated[list[str] | None, typer.Option(help="GPU of the claim; repeatable.")] = None,
    backend: Annotated[list[str] | None, typer.Option(help="Backend; repeatable.")] = None,
    precision: Annotated[list[str] | None, typer.Option(help="Precision; repeatable.")] = None,
    trust: Annotated[Trust, typer.Option(help="What counts: claims, audited or re-run ones.")] = Trust.claimed,
    verified_on: Annotated[str | None, typer.Option(help="GPU of verified speedups.  [default: most results]")] = None,
    baseline: Annotated[str | None, typer.Option(help="Speedups against eager, compile … or a timing file.")] = None,
    exclude_infra: Annotated[bool, typer.Option(help="Take out runs failed by harness or infrastructure.")] = False,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="csv and md list the pairs.")] = Format.table,
) -> None:
    """Pair two models (or modes, or sweeps) on shared problems: wins, ties, losses, ratio of speedups.

    Example: kbstats compare sample-a sample-b --level 3 --trust audited
    """
    from kbstats.analytics import compare, leaderboards, warehouse

    con = warehouse.open_read(db or warehouse.default_db())
    try:
        filters = leaderboards.Filters(
            levels=level or [], variants=variant or [], suites=suite or [], sweeps=sweep or [], modes=mode or [],
            models=model or [], hardwares=hardware or [], backends=backend or [], precisions=precision or [],
            trust=trust.value, verified_on=verified_on, baseline=baseline_of(con, baseline),
            exclude_infra=exclude_infra,
        )  # fmt: skip
        found = compare.compare(con, a, b, filters, side=by.value)
    finally:
        con.close()
    for text in found["notes"]:
        note(f"note: {text}")
    if fmt is Format.json:
        print(to_json(found))
    elif fmt is Format.table:
        _print(found)
    else:
        if not found["pair_rows"]:
            note("kbstats: nothing pairs; --format json says what each side ran")
        emit(found["pair_rows"], fmt)


def _print(f: dict[str, Any]) -> None:
    print(plain_line(f"A  {f['a']}"))
    print(plain_line(f"B  {f['b']}"))
    print(f"\n{f['pairs']} shared problems and samples: A wins {f['wins']}, ties {f['ties']}, loses {f['losses']}")
    if f["p_value"] is not None:
        p = f["p_value"]
        print(f"sign test: p {f'= {p:.3g}' if p else '< 1e-300'} that the split is chance")
    if f["ratio"] is not None:
        between = "" if f["ratio_lo"] is None else f" [{f['ratio_lo']:.2f}–{f['ratio_hi']:.2f}]"
        print(f"speedup of A over speedup of B: {f['ratio']:.2f}{between}, geometric mean of {f['n_ratio']} pairs")
    columns = [Column(k, k, right=True) for k in ("wins", "ties", "losses")]
    if f["by_level"]:
        print()
        ratio = Column("ratio", "A/B", number(2), right=True)
        emit(f["by_level"], Format.table, [Column("level", "level", right=True), *columns, ratio])
    if f["by_class"]:
        print()
        lost = [Column("a_lost", "A lost", right=True), Column("b_lost", "B lost", right=True)]
        emit(f["by_class"], Format.table, [Column("class", "lost by"), *lost])
    for side in ("a", "b"):
        if only := f[f"only_{side}"]:
            print(f"\nonly {side.upper()} ran {_count(only)}, not counted: {_places(only)}")
    if apart := f["unpaired"]:
        why = ", ".join(dict.fromkeys(w for r in apart for w in r["differ_in"]))
        print(f"\nboth ran {_count(apart)} that could not be paired, for they differ in {why}: {_places(apart)}")


def _count(rows: list[dict[str, Any]]) -> str:
    return f"{len(rows)} problem{'s' if len(rows) > 1 else ''}"


def _places(rows: list[dict[str, Any]], most: int = 12) -> str:
    more = f" and {len(rows) - most} more" if len(rows) > most else ""
    return plain_line(", ".join(map(place, rows[:most])) + more)
