"""`kbstats leaderboard`: who is how good."""

from __future__ import annotations

import collections
import functools
import sys
import textwrap
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from kbstats.analytics.output import Column, Format, display_width, emit, folded, note, number, place, plain_line, width
from kbstats.ingest.errors import UsageError

if TYPE_CHECKING:
    import duckdb


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
    matrix = "matrix"


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
    by: Annotated[
        By, typer.Option(metavar="|".join(list(By)[:3]) + "|…", help=f"One row: {', '.join(By)} (model x problem).")
    ] = By.model,
    trust: Annotated[Trust, typer.Option(help="What counts: claims, audited or re-run ones.")] = Trust.claimed,
    verified_on: Annotated[str | None, typer.Option(help="GPU of a verified board.  [default: most results]")] = None,
    baseline: Annotated[str | None, typer.Option(help="Speedups against eager, compile … or a timing file.")] = None,
    sort: Annotated[str | None, typer.Option(help="First key of the order: a JSON column.  [default: fast_1]")] = None,
    p: Annotated[str, typer.Option("--p", help="Speedups p for fast_p, with commas.")] = "0,1,2",
    k: Annotated[str, typer.Option("--k", help="Samples k for pass@k and best of k, with commas.")] = "",
    shared: Annotated[bool, typer.Option("--shared", help="Only the problems that every row attempted.")] = False,
    min_coverage: Annotated[float, typer.Option(min=0, max=1, help="Least share of the offered problems.")] = 0.0,
    exclude_infra: Annotated[bool, typer.Option(help="Take out runs failed by harness or infrastructure.")] = False,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
    fmt: Annotated[Format, typer.Option("--format", help="Output format.")] = Format.table,
) -> None:
    """Rank models (or problems, runs, sweeps …) by what they got right and fast.

    Example: kbstats leaderboard --level 3 --trust audited
    """
    from kbstats.analytics import leaderboards, offers, warehouse

    ps, ks = _numbers(p), _samples(k)
    _check(by, sort, ps, ks, min_coverage)
    con = warehouse.open_read(db or warehouse.default_db())
    try:
        filters = leaderboards.Filters(
            levels=level or [], variants=variant or [], suites=suite or [], sweeps=sweep or [], modes=mode or [],
            models=model or [], hardwares=hardware or [], backends=backend or [], precisions=precision or [],
            trust=trust.value, verified_on=verified_on, baseline=baseline_of(con, baseline),
            exclude_infra=exclude_infra,
        )  # fmt: skip
        if by is By.matrix:
            from kbstats.analytics import matrix

            found = matrix.matrix(con, filters, min_coverage=min_coverage, shared=shared)
        else:
            found = leaderboards.board(
                con, filters, by=by.value, sort=sort, ps=ps, ks=ks, min_coverage=min_coverage, shared=shared
            )
        unmet = [] if found.rows else offers.missing(con, filters.parameters())
    finally:
        con.close()
    for text in found.notes:
        note(f"note: {text}")
    if not found.rows:
        nothing = "no runs: the database is empty, or the filters together leave nothing"
        if shared:
            nothing = "no problem is left that every row attempted: leave --shared out, or ask for fewer rows"
        for text in unmet or [nothing]:
            note(f"kbstats: {text}")
        if fmt in {Format.table, Format.md}:
            return
    if fmt in {Format.json, Format.csv}:
        emit(found.rows, fmt)
    elif by is By.matrix:
        _matrix(found.rows, fmt)
    else:
        shown, columns = _for_people(by, trust, found.rows, ps, ks, room=_room(fmt), sort=sort)
        emit(shown, fmt, columns)
        if by is By.run and any(r["near_tie"] for r in found.rows):
            note(f"{NEAR_TIE} no measurable change: within the noise of its own timing")


def baseline_of(con: duckdb.DuckDBPyConnection, text: str | None) -> str | None:
    """The name of the baseline asked for; where the text names a file, its timings stand for all others."""
    if not text or not Path(text).is_file():
        return text
    from kbstats.analytics import baseline_files

    return baseline_files.use(con, Path(text))


def _check(by: By, sort: str | None, ps: list[float], ks: list[int], min_coverage: float) -> None:
    """Refuse what a board of this kind would not heed.

    Raises:
        UsageError: naming the option and what there is.
    """
    from kbstats.analytics import leaderboards

    keys = {By.run: list(leaderboards.RUN_KEYS), By.matrix: []}.get(by, leaderboards.sort_keys(ps))
    if sort is not None and sort not in keys:
        there = ", ".join(keys) or "a matrix has the order of its problems"
        raise UsageError(f"no column {sort!r} to sort by", hint=there)
    if by in {By.run, By.matrix} and (ks or ps != list(leaderboards.DEFAULT_P)):
        raise UsageError("--p and --k are shares of several runs", hint=f"leave them out with --by {by.value}")
    if by in {By.run, By.problem} and min_coverage:
        raise UsageError("--min-coverage is of rows with several problems", hint=f"leave it out with --by {by.value}")


def _numbers(text: str) -> list[float]:
    import math

    try:
        ps = [float(t) for t in text.split(",") if t.strip()]
    except ValueError:
        ps = [math.nan]
    if not ps or not all(math.isfinite(v) and v >= 0 for v in ps):
        raise UsageError(f"--p takes numbers from 0 on with commas between them, not {text!r}")
    return list(dict.fromkeys(map(abs, ps)))  # -0 is 0


def _samples(text: str) -> list[int]:
    parts = [t.strip() for t in text.split(",") if t.strip()]
    if not all(t.isdigit() and int(t) > 0 for t in parts):
        raise UsageError(f"--k takes whole numbers from 1 on with commas between them, not {text!r}")
    return [int(t) for t in parts]


def _speed(v: Any) -> str:
    """A speedup in the fewest characters that keep three figures."""
    if v is None:
        return "–"
    if v >= 10_000:
        return f"{v:.1e}".replace("e+0", "e").replace("e+", "e")
    return f"{v:.2f}" if v < 10 else f"{v:.1f}" if v < 100 else f"{v:.0f}"


def _range(lo: Any, hi: Any) -> str:
    return "" if lo is None else f" [{_speed(lo)}–{_speed(hi)}]"


LONG_NAMES = (30, 24)
"""Names longer than this go on over a second line where a table is too wide: first the one, then the other."""


def _room(fmt: Format) -> int:
    """Columns to fit a table to; Markdown is for a page and leaves nothing out."""
    return sys.maxsize if fmt is Format.md else width()


def _for_people(
    by: By,
    trust: Trust,
    rows: list[dict[str, Any]],
    ps: list[float],
    ks: list[int],
    *,
    room: int,
    sort: str | None,
) -> tuple[list[dict[str, Any]], list[Column]]:
    """Rows with the cells that join several fields, and the columns that fit the width.

    What the board is sorted by is always among them, behind the name.
    """
    if by is By.run:
        return _run_columns(rows, room, sort)
    from kbstats.analytics.leaderboards import p_name

    percent = number(1, scale=100)
    shown = [{**r, "_geomean": _speed(r["geomean_speedup"]) + _range(r["geomean_lo"], r["geomean_hi"])} for r in rows]
    columns = [
        Column("rank", "#", right=True),
        Column(by.value, by.value),
        Column("n", "n", right=True),
        Column("correct_rate", "corr.\n%", percent, right=True),
        *(Column(p_name(v), f"fast_\n{v:g} %", percent, right=True) for v in ps if v != 0),
        *(Column(f"pass_{k}", f"pass\n@{k} %", percent, right=True) for k in ks),
        *(Column(f"best_of_{k}", f"best\nof {k}", _speed, right=True) for k in ks),
    ]
    if by is By.problem:
        shown = [{**r, "_level": where} for r, where in zip(shown, _places(shown), strict=True)]
        columns.insert(1, Column("_level", "level"))
        columns.append(Column("best_speedup", "best", _speed, right=True))
        columns[3:3] = _unseen(sort, columns)
        columns.append(Column("best_model", "by", lambda v: v or "–"))
        return shown, _fitting(columns, shown, optional=("fast_2", "n", "best_model"), room=room)
    columns += [
        Column("_geomean", "geomean\nspeedup [95 %]", right=True),
        Column("median_speedup", "med-\nian", _speed, right=True),
        Column("near_tie", "near\ntie", right=True),
        # A claim is withdrawn only where more than the claim is asked for.
        *([Column("withdrawn", "with-\ndrawn", right=True)] if trust is not Trust.claimed else []),
        Column("flagged", "flag-\nged", right=True),
        Column("verified", "veri-\nfied", right=True),
    ]
    columns[2:2] = _unseen(sort, columns)
    # What says how far to trust a row stays; the interval's width and a second look at speed go first.
    if _wide(columns, shown) > room:
        columns = [c for c in columns if c.key != "near_tie" or sort == "near_tie"]
    if _wide(columns, shown) > room:
        plain_mean = Column("geomean_speedup", "geo-\nmean", _speed, right=True)
        columns = [plain_mean if c.key == "_geomean" else c for c in columns]
    for size, gives in zip(LONG_NAMES, ("flagged", ""), strict=True):
        if _wide(columns, shown) > room:
            columns[1] = Column(by.value, by.value, functools.partial(_name, size))
            columns = _fitting(columns, shown, optional=() if gives == sort else (gives,), room=room)
    expendable = [key for key in ("flagged", "median_speedup", "fast_2") if key != sort]
    return shown, _fitting(columns, shown, optional=tuple(expendable), room=room)


def _unseen(sort: str | None, columns: list[Column]) -> list[Column]:
    """The column of the board's order, where none of these shows it."""
    joined = {"fast_0": "correct_rate", "geomean_speedup": "_geomean"}
    if sort is None or {sort, joined.get(sort)} & {c.key for c in columns}:
        return []
    return [_sorted_by(sort)]


def _sorted_by(key: str) -> Column:
    """The column of a key that the table does not show by itself."""
    percent = number(1, scale=100)
    shares = {"coverage": percent, "median_sol": percent, "correct_rate": percent}
    show = shares.get(key) or (percent if key.startswith("fast_") else _figure)
    words = key.replace("_", " ") + " %" * (show is percent)
    return Column(key, textwrap.fill(words, 9), show, right=True)


def _figure(v: Any) -> str:
    """A count whole, anything else with two decimals."""
    return number(0 if isinstance(v, int) else 2)(v)


def _name(room: int, v: Any) -> str:
    return "\n".join(folded(str(v), room))


def _wide(columns: list[Column], rows: list[dict[str, Any]]) -> int:
    """Columns of the terminal that a table takes when nothing folds."""

    def one(c: Column) -> int:
        texts = (c.title, *(c.show(r.get(c.key)) for r in rows))
        return 2 + max(display_width(line) for text in texts for line in text.split("\n"))

    return sum(map(one, columns)) - 2


def _fitting(
    columns: list[Column], rows: list[dict[str, Any]], optional: tuple[str, ...], *, room: int
) -> list[Column]:
    """Leave out optional columns until the table fits: names are never cut."""
    for key in optional:
        if _wide(columns, rows) <= room:
            break
        columns = [c for c in columns if c.key != key]
    return columns


_WORD = {
    "correct": "ok", "compile_fail": "build", "runtime_fail": "run", "incorrect": "wrong", "timeout": "time",
    "not_counted": "out", "no_submission": "none", "infra_error": "infra", "llm_error": "llm", "in_progress": "open",
    "unknown": "?",
}  # fmt: skip


NOT_ATTEMPTED = "–"


def _attempted(names: list[str], shown: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The problems that one of these models attempted."""
    return [r for r in shown if any(r[n] != NOT_ATTEMPTED for n in names)]


def _parts(names: list[str], shown: list[dict[str, Any]], *, room: int) -> list[list[str]]:
    """The columns of models in tables that fit the width, in order, each as full as it goes."""
    parts: list[list[str]] = []
    for name in names:
        more = [*parts[-1], name] if parts else []
        columns = [Column("level", "level"), *(Column(n, n) for n in more)]
        if more and _wide(columns, _attempted(more, shown)) <= room:
            parts[-1] = more
        else:
            parts.append([name])
    return parts


def _matrix(rows: list[dict[str, Any]], fmt: Format) -> None:
    """One row a problem, one column a model; the columns' names are too long for heads and stand below."""
    from kbstats.analytics.matrix import wide

    models, problems = wide(rows)
    names = {m: _letters(i) for i, m in enumerate(models)}

    def cell(r: dict[str, Any] | None) -> str:
        if r is None:
            return NOT_ATTEMPTED
        return _speed(r["best_speedup"]) if r["best_speedup"] is not None else _WORD.get(r["outcome"], r["outcome"])

    shown = [
        {"level": where, "problem": p["problem"]} | {names[m]: cell(p["cells"][m]) for m in models}
        for p, where in zip(problems, _places(problems), strict=True)
    ]
    for part in _parts(list(names.values()), shown, room=_room(fmt)):
        # Too many models for one table: each of several has the problems that its own models attempted.
        mine = _attempted(part, shown)
        columns = [Column("level", "level"), *(Column(n, n, right=True) for n in part)]
        if _wide([*columns, Column("problem", "problem")], mine) <= _room(fmt):
            columns.insert(1, Column("problem", "problem"))
        emit(mine, fmt, columns)
        print()
    for model, name in names.items():
        print(plain_line(f"{name}  {model}"))
    print("a number: the best speedup that counts; ok: correct, not timed")
    print("out: correct, does not count here; –: not attempted")


def _places(problems: list[dict[str, Any]]) -> list[str]:
    """Each problem's level and number; its variant only where two variants have a problem of that number."""
    short = [place({**p, "problem_name": p["problem"]}) for p in problems]
    times = collections.Counter(short)
    return [f"{s} {p['variant']}" if times[s] > 1 else s for s, p in zip(short, problems, strict=True)]


def _letters(i: int) -> str:
    """Names of columns: A to Z, AA, AB and so on."""
    out = ""
    i += 1
    while i:
        i, rest = divmod(i - 1, 26)
        out = chr(65 + rest) + out
    return out


NEAR_TIE = "~"
"""Stands in front of a speedup that its own noise explains."""


def _run_columns(rows: list[dict[str, Any]], room: int, sort: str | None) -> tuple[list[dict[str, Any]], list[Column]]:
    shown = [{**r, "_problem": place(r), "_speedup": NEAR_TIE * r["near_tie"] + _speed(r["speedup"])} for r in rows]
    columns = [
        Column("rank", "#", lambda v: "–" if v is None else str(v), right=True),
        Column("run_id", "run", lambda v: v[:10]),
        Column("model", "model"),
        Column("_problem", "problem"),
        Column("_speedup", "speedup", right=True),
        *([_sorted_by(sort)] if sort and sort != "speedup" else []),
        Column("outcome", "outcome"),
        Column("reason", "does not count:"),
        Column("mode", "mode"),
    ]
    return shown, _fitting(columns, shown, optional=("mode", "outcome"), room=room)
