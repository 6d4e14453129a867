"""`kbstats annotate`: say something of a run, for instance that a finding is wrong."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(  # noqa: PLR0917  options of a command line
    run: Annotated[list[str], typer.Argument(help="A run's id or its beginning, or words: model, level, problem.")],
    verdict: Annotated[str, typer.Option(help="One word: clean, disputed, bug, reward_hack, note …")],
    text: Annotated[str, typer.Option(help="The reasons.")],
    finding: Annotated[str | None, typer.Option(help="Code of the audit that this is about.")] = None,
    author: Annotated[str | None, typer.Option(help="Who says so.  [default: the user]")] = None,
    file: Annotated[
        Path | None, typer.Option(help="File to add the line to.  [default: annotations.jsonl beside the database]")
    ] = None,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
) -> None:
    """Add a statement about a run to a file of annotations, and read the file into the database.

    The file can be kept, shared and ingested like any other. Nothing is changed by a statement: it
    stands beside the run's findings.

    Example: kbstats annotate sample-c L3 P1 --verdict disputed --text "the reference loops in Python"
    """
    from kbstats.analytics import annotations, audit, runs, warehouse
    from kbstats.ingest import pipeline, registry

    if finding:
        audit.check_codes([finding])
    path = db or warehouse.default_db()
    con = warehouse.open_read(path)
    try:
        run_id = runs.find(con, run)
    finally:
        con.close()
    target = file or path.resolve().parent / annotations.FILE
    annotations.append(target, annotations.line(run_id, verdict, text, author=author, finding=finding))
    if "annotation" not in registry.names():
        print(f"kbstats: written to {target}; ingest it to see it", file=sys.stderr)
        return
    con = warehouse.open_write(path)
    try:
        pipeline.ingest(con, [target])
        warehouse.refresh(con)
    finally:
        con.close()
    print(f"{run_id}  {target}")
