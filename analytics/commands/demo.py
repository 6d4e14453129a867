"""`kbstats demo`: the main job on the samples that come with the package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def command(
    out: Annotated[Path, typer.Option("--output", "-o", help="Folder for the database and the site.")] = Path(
        "kbstats-demo"
    ),
) -> None:
    """Ingest the sample traces, print the boards and build the site.

    Example: kbstats demo -o demo/
    """
    from importlib.resources import as_file, files

    from kbstats.analytics.commands import failures, ingest, leaderboard, site

    out.mkdir(parents=True, exist_ok=True)
    db, pages = out / "kbstats.duckdb", out / "site"
    with as_file(files("kbstats.data")) as data:
        ingest.command([data], db=db)
    for trust, words in (
        (leaderboard.Trust.claimed, "What the runs claim"),
        (leaderboard.Trust.audited, "What stands after the audit"),
        (leaderboard.Trust.verified, "What stood when the kernels were run again"),
    ):
        _say(f"\n{words} (kbstats leaderboard --level 3 --trust {trust.value})\n")
        leaderboard.command(level=[3], trust=trust, db=db)
    _say("\nWhy the rest failed (kbstats failures)\n")
    failures.command(db=db)
    site.build(out=pages, db=db)
    _say(f"\nThe site: {(pages / 'index.html').resolve()}\nThe database: {db.resolve()}")


def _say(text: str) -> None:
    sys.stdout.flush()
    print(text, flush=True)
