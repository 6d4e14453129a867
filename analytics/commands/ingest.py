"""`kbstats ingest`: trace files into the warehouse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb
    from kbstats.ingest.pipeline import IngestSummary, Progress

MAX_ADVICE = 10
"""Rejected files of a shard, and folders with nothing in them, that are told of by name."""
LOCK_WAIT_S = 600.0
"""How long `--wait` waits for another process to let go of the database."""


def command(  # noqa: PLR0917  options of a command
    paths: Annotated[list[Path], typer.Argument(help="Files and folders; folders are walked.")],
    db: Annotated[
        Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")
    ] = None,
    format_: Annotated[str | None, typer.Option("--format", help="Read with this format only.")] = None,
    map_: Annotated[Path | None, typer.Option("--map", help="Column mapping (TOML) for tables.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that decode.")] = 1,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit 1 if anything was read with an issue.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove sources under PATHS whose file is gone.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait while another process uses the database.")
    ] = False,
    lake: Annotated[
        Path | None, typer.Option("--lake", help="Write Parquet into this folder instead of a database.")
    ] = None,
    shard: Annotated[
        str | None, typer.Option("--shard", metavar="I/N", help="With --lake: only this share of the files.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", help="Where shards are read: local, slurm or ray; see docs/scale.md.")
    ] = None,
    shards: Annotated[
        int | None, typer.Option("--shards", min=1, help="With --engine: how many.  [default: one a worker]")
    ] = None,
    engine_option: Annotated[
        list[str] | None, typer.Option("--engine-option", metavar="KEY=VALUE", help="For the engine; repeatable.")
    ] = None,
) -> None:
    """Read trace files into the database; files that have not changed are skipped.

    Exit codes: 0 done, 1 failed or --strict found issues, 2 wrong usage, 3 some input was rejected
    or cut short, or nothing in a folder is recognised.

    Example: kbstats ingest runs/ results.csv
    """
    import contextlib

    import duckdb
    from kbstats.analytics import warehouse
    from kbstats.ingest import changes, pipeline, scan
    from kbstats.ingest.errors import UsageError

    for path in paths:  # before a database is made for nothing
        if not path.exists() and not path.is_symlink():
            raise UsageError("no such file or folder", location=scan.path_text(path))
    given, db = db, db or warehouse.default_db()
    if shard is not None or lake is not None or engine is not None:
        from kbstats.analytics import lakes

        wanted = lakes.Given(paths, format_, map_, workers, prune)
        progress, stop = _bar()
        try:
            if engine is None:
                summary = lakes.ingest(wanted, lake, shard, progress=progress)
            else:
                summary = lakes.spread(wanted, lake, db, engine, shards, engine_option or (), shard=shard)
        finally:
            stop()
        _end(summary, strict=strict)
        return
    con, earlier = _current(db, wait=wait)
    progress, stop = _bar()
    try:
        if earlier:
            pipeline.ingest(con, earlier, workers=workers, progress=progress)
        summary = pipeline.ingest(
            con, paths, format=format_, map_file=map_, workers=workers, prune=prune, progress=progress
        )
        if summary.wrote or earlier or not warehouse.is_current(con):
            warehouse.refresh(con, changes.take(con))
        elif warehouse.is_stale(con):  # an earlier ingest was stopped half way
            warehouse.finish(con)
    except duckdb.Error as e:
        raise _unwritten(db, e) from e
    finally:
        stop()
        with contextlib.suppress(duckdb.Error):  # the disk is full: closing writes again
            con.close()
    _end(summary, strict=strict, db=given)


def _end(summary: IngestSummary, *, strict: bool, db: Path | None = None) -> None:
    """Print the summary, and leave with its exit code."""
    typer.echo("\n".join(lines(summary, db)))
    if strict and summary.issues:
        raise typer.Exit(1)
    if summary.incomplete:
        raise typer.Exit(3)


def _current(db: Path, *, wait: bool) -> tuple[duckdb.DuckDBPyConnection, list[Path]]:
    """The database with the tables of this version, and what is to be read again if it had others."""
    from kbstats.analytics.commands import rebuild
    from kbstats.ingest.errors import DatabaseError

    try:
        return _open(db, wait=wait), []
    except DatabaseError as e:
        if "whose tables differ" not in e.message:
            raise
    earlier = rebuild.set_aside(db)
    return _open(db, wait=wait), earlier


def _unwritten(db: Path, e: Exception) -> Exception:
    """The database's own words on a full disk or a failing one, as one line."""
    from kbstats.ingest.errors import DatabaseError

    text = " ".join(str(e).split())[:200]
    hint = "what was committed before is safe; make room and run the same command again"
    return DatabaseError(f"the database cannot be written ({text})", location=db, hint=hint)


def _open(db: Path, *, wait: bool) -> duckdb.DuckDBPyConnection:
    import time

    from kbstats.analytics import warehouse
    from kbstats.ingest.errors import DatabaseError

    deadline = time.monotonic() + (LOCK_WAIT_S if wait else 0.0)
    while True:
        try:
            return warehouse.open_write(db, models=False)
        except DatabaseError as e:
            if "in use" not in e.message or time.monotonic() >= deadline:
                raise
            time.sleep(0.2)


def _bar() -> tuple[Callable[[Progress], None] | None, Callable[[], None]]:
    """A progress bar on a terminal; nothing anywhere else."""
    import sys

    if not sys.stderr.isatty():
        return None, lambda: None
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import (
        Progress as Bar,
    )

    bar = Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task("reading", total=None)
    bar.start()

    def show(p: Progress) -> None:
        bar.update(
            task,
            completed=p.bytes_done,
            total=p.bytes_total,
            description=f"{p.files_done}/{p.files_total} files",
        )

    return show, bar.stop


def lines(s: IngestSummary, db: Path | None = None) -> list[str]:
    """The summary: counts no wider than 80 columns, then a line on each file that needs a look.

    Args:
        s: What the ingest did.
        db: The database, if it is not the default one: named in the command that tells more.
    """
    from kbstats.ingest import scan

    files = [
        ("seen", s.seen),
        ("new", s.new),
        ("changed", s.changed),
        ("unchanged", s.unchanged),
        ("rejected", s.rejected + s.rejected_before),
        ("partial", s.partial + s.partial_before),
        ("companions", s.companions),
        ("removed", s.removed),
    ]
    before = {"rejected": (s.rejected, s.rejected_before), "partial": (s.partial, s.partial_before)}
    always = {"seen", "new", "changed", "unchanged", "rejected"}
    told = [(f"{name} {n:,}", before.get(name, (0, 0))) for name, n in files if n or name in always]
    out = _wrapped("files", [text + _unchanged(*counts) for text, counts in told])
    if s.ignored:
        total = sum(s.ignored.values())
        by_suffix = [f"{suffix[:20]} {n:,}" for suffix, n in s.ignored.most_common(12)]
        more = len(s.ignored) - len(by_suffix)
        out += _wrapped(
            "ignored", [f"{total:,}:", *by_suffix, *([f"and {more} more suffixes"] if more > 0 else [])]
        )
    rows = [("runs", s.runs), ("turns", s.turns), ("tool calls", s.tool_calls)]
    extra = [("verifications", s.verifications), ("copies", s.copies), ("links", s.links if s.new_links else 0)]
    out += _wrapped(
        "read", [f"{name} {n:,}" for name, n in rows] + [f"{name} {n:,}" for name, n in extra if n]
    )
    if s.issues:
        total = sum(s.issues.values())
        out += _wrapped("issues", [f"{total:,}:", *(f"{code} {n:,}" for code, n in s.issues.most_common())])
    named = [("rejected", text) for text in s.advice[:MAX_ADVICE]]
    named += [(d.status, f"{scan.shown(d.path)}: {d.what}; {d.step}") for d in s.damaged]
    named += [("rejected", text) for text in s.blocked[:MAX_ADVICE]]
    named += [("nothing", text) for text in s.barren[:MAX_ADVICE]]
    out += [f"{title:<9}" + "".join(c if c.isprintable() else "?" for c in text) for title, text in named]
    if (more := (s.n_damaged - len(s.damaged) if s.damaged else len(s.advice) - MAX_ADVICE)) > 0:
        ask = "kbstats doctor" if db is None else f"kbstats doctor --db {db}"
        out.append(f"{'':<9}and {more:,} more{f': `{ask}` names all' if s.damaged else ''}")
    return out


def _unchanged(now: int, before: int) -> str:
    """How many of them were so before, and are as they were."""
    return "" if not before else f" ({before:,} unchanged)" if now else " (unchanged)"


def _wrapped(title: str, parts: list[str], width: int = 80) -> list[str]:
    out, line = [], f"{title:<9}"
    for part in parts:
        if len(line) + len(part) + 2 > width and line.strip() != title:
            out.append(line.rstrip())
            line = " " * 9
        line += part + "  "
    return [*out, line.rstrip()]
