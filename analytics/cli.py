"""The command line: parse, call one function, print. The only place that catches the error family.

Nothing heavy is imported here or at the top of the command modules: `kbstats --help` loads
neither duckdb, polars, pyarrow, altair, scipy nor torch (tests/test_imports.py).
"""

from __future__ import annotations

import io
import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from kbstats.analytics.plain_options import lighten
from kbstats.ingest.errors import KbstatsError
from typer.core import TyperGroup

COMMANDS = (
    "ingest", "leaderboard", "failures", "audit", "compare", "show", "annotate", "export", "sql", "doctor", "demo",
    "samples",
)  # fmt: skip
"""Modules of analytics/commands that hold one command of their name, in the order of the help."""

GROUPS = ("verify", "site", "lake")
"""Those that hold a group of commands."""


class Commands(TyperGroup):
    """A group whose help says of each command all that its first paragraph says, over as many lines as it takes."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, whose plain options are read at once."""
        found = super().get_command(ctx, cmd_name)
        if found is not None:
            lighten(found.get_params(ctx))
        return found

    def get_params(self, ctx: Any) -> Any:
        """Options of the group itself, likewise."""
        found = super().get_params(ctx)
        lighten(found)
        return found

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the section; the base class cuts each description to what is left of a line."""
        rows = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        told = [(name, " ".join((c.help or "").split("\n\n")[0].split())) for name, c in rows if not c.hidden]
        with formatter.section("Commands"):
            formatter.write_dl(told)


def _version(value: bool) -> None:
    if value:
        from kbstats.analytics.warehouse import version

        print(f"kbstats {version()}")
        raise typer.Exit


def _main(
    ctx: typer.Context,
    _show_version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show a traceback when something fails.")] = False,
) -> None:
    if debug:
        os.environ["KBSTATS_DEBUG"] = "1"
    if ctx.invoked_subcommand is None:
        from kbstats.analytics import next_steps, warehouse

        print("\n".join(next_steps.lines(next_steps.advise(warehouse.default_db()))))


def build(*names: str) -> typer.Typer:
    """The command line with these commands, else with all of them.

    What is not asked for is not imported: reading fourteen modules and their options takes as much
    time as a small board.
    """
    built = typer.Typer(
        name="kbstats",
        cls=Commands,
        invoke_without_command=True,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Trace logs of kernel-writing agents: leaderboards, failures, audit, verification, site.\n\n"
        "Without a command: what to do next, given what lies in this folder.",
    )
    built.callback()(_main)
    for name in names or (*COMMANDS, *GROUPS):
        module = import_module(f"kbstats.analytics.commands.{name}")
        if name in GROUPS:
            built.add_typer(module.app, name=name, cls=Commands)
        else:
            built.command(name)(module.command)
    return built


def __getattr__(name: str) -> typer.Typer:
    """`app`, the whole command line, made when somebody asks for it."""
    if name != "app":
        raise AttributeError(name)
    return build()


def main() -> None:
    """Run the command line; turn an error into one line on stderr and its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that knows ASCII alone gets a question mark for a line or a name, not a traceback half way.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    debug = "--debug" in sys.argv or bool(os.environ.get("KBSTATS_DEBUG"))
    argv = [a for a in sys.argv[1:] if a != "--debug"]
    try:
        # Options in front of the command, help and completion want to know all commands.
        one = argv[:1] if argv and argv[0] in {*COMMANDS, *GROUPS} else []
        build(*one)(argv, standalone_mode=True)
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
