"""`kbstats lake`: a database over what shards have written, and merging it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True, help="Parquet written by `kbstats ingest --shard i/n --lake DIR`.")

Folder = Annotated[Path, typer.Argument(help="Folder of the lake.")]


@app.command("attach")
def attach_command(
    folder: Folder,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
) -> None:
    """Put a database over a lake: the same tables and views as one plain ingest of the same files.

    What belongs to a run stays in the lake's files, and is read there; after new shards or a merge, attach again.
    `--db DIR` of any other command does this in the lake's own folder, whenever the lake has changed.

    Example: kbstats lake attach lake/ --db lake.duckdb
    """
    from kbstats.analytics import lakes, warehouse

    done = lakes.attach(folder, db or warehouse.default_db())
    words = [f"parts {done.parts:,}", f"sources {done.sources:,}", f"runs {done.runs:,}"]
    words += [f"{name} {n:,}" for name, n in (("copies", done.copies), ("links", done.links)) if n]
    typer.echo(f"{'lake':<9}{', '.join(words)}")


@app.command("compact")
def compact_command(folder: Folder) -> None:
    """Merge a lake's parts into fewer files and drop the rows that newer ones replace.

    Example: kbstats lake compact lake/
    """
    from kbstats.ingest import lake_compact
    from kbstats.ingest.lake import Lake

    done = lake_compact.compact(Lake.open(folder))
    typer.echo(
        f"{'lake':<9}parts {done.parts_before:,} to {done.parts_after:,}, rows dropped {done.rows_dropped:,}, "
        f"{done.bytes_before / 1e6:,.1f} MB to {done.bytes_after / 1e6:,.1f} MB"
    )
