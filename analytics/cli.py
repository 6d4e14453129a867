"""The command line: parse, call one function, print. The only place that catches the error family.

Nothing heavy is imported here or at the top of the command modules: `kbstats --help` loads
neither duckdb, polars, pyarrow, altair, scipy nor torch (tests/test_imports.py).
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from kbstats.analytics.commands import (
    annotate,
    audit,
    compare,
    demo,
    doctor,
    export,
    failures,
    ingest,
    lake,
    leaderboard,
    show,
    site,
    sql,
    verify,
)
from kbstats.ingest.errors import KbstatsError

app = typer.Typer(
    name="kbstats",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Trace logs of kernel-writing agents: leaderboards, failures, audit, verification, site.",
)


def _version(value: bool) -> None:
    if value:
        from kbstats.analytics.warehouse import version

        print(f"kbstats {version()}")
        raise typer.Exit


@app.callback()
def _main(
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    if debug:
        os.environ["KBSTATS_DEBUG"] = "1"


for module in (ingest, leaderboard, failures, audit, compare, show, annotate, export, sql, doctor, demo):
    app.command(module.__name__.rpartition(".")[2])(module.command)
app.add_typer(verify.app, name="verify")
app.add_typer(site.app, name="site")
app.add_typer(lake.app, name="lake")


def main() -> None:
    """Run the command line; turn an error into one line on stderr and its exit code."""
    debug = "--debug" in sys.argv or bool(os.environ.get("KBSTATS_DEBUG"))
    argv = [a for a in sys.argv[1:] if a != "--debug"]
    try:
        app(argv, standalone_mode=True)
    except KbstatsError as e:
        if debug:
            raise
        print(f"kbstats: {e}", file=sys.stderr)
        sys.exit(e.exit_code)
    except SystemExit as e:
        # The reader of our output went away (`kbstats … | head`): not an error of ours. typer ends
        # with 1 then, having wrapped the streams so that the interpreter's own flush is silent.
        if e.code == 1 and type(sys.stdout).__name__ == "PacifyFlushWrapper":
            sys.exit(0)
        raise
    except KeyboardInterrupt:
        print("kbstats: interrupted", file=sys.stderr)
        sys.exit(130)
    except Exception as e:
        if debug:
            raise
        text = (str(e).splitlines() or [""])[0][:300]
        print(
            f"kbstats: unexpected {type(e).__name__}: {text} (run again with --debug for the traceback)",
            file=sys.stderr,
        )
        sys.exit(1)
