"""Write the reference pages that the code itself defines; tests/test_docs.py compares them.

usage: python docs/generate.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
NOTE = "<!-- written by docs/generate.py: edit the code it names, then run `make docs` -->\n"


def tables() -> str:
    """`tables.md`: the data dictionary, from sql/schema, and the models, from sql/models."""
    from kbstats.sql import catalog, describe

    out = [NOTE, "# Tables and models", "", "Units stand in the names; NULL means unknown; times are UTC.", ""]
    out.append("Query them with `kbstats sql`.\n")
    for t in describe.tables():
        out += [f"## {t.name}", "", f"{t.purpose}. One row: {t.grain}.", "", "| column | type | |", "|---|---|---|"]
        out += [f"| `{c.name}` | {c.type}{'' if c.required else ', may be NULL'} | {c.text} |" for c in t.columns]
        out.append("")
    out += ["# Models", "", "Views and table macros (`from name(argument := value)`) over the tables.", ""]
    for m in catalog.models():
        out += [
            f"## {m.name}",
            "",
            f"{m.header['purpose']}. One row: {m.header['grain']}. Reads: {m.header['inputs']}.",
            "",
        ]
    return "\n".join(out).rstrip() + "\n"


def cli() -> str:
    """`cli.md`: every command with its arguments and options."""
    import typer.main
    from kbstats.analytics.cli import app

    out = [NOTE, "# Command line", "", "Exit codes: 0 done, 1 it failed (or `--strict` found issues), 2 wrong usage,"]
    out += ["3 done, but some input was rejected. Data goes to standard output, everything else to standard error.", ""]
    for name, command in _commands(typer.main.get_command(app), ("kbstats",)):
        out += [f"## {name}", "", (command.help or "").strip(), ""]
        rows = [
            _parameter(p) for p in command.params if p.name not in {"help", "install_completion", "show_completion"}
        ]
        if rows:
            out += ["| | |", "|---|---|", *rows, ""]
    return "\n".join(out).rstrip() + "\n"


def _commands(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    yield " ".join(path), command
    for name, sub in sorted(getattr(command, "commands", {}).items()):
        yield from _commands(sub, (*path, name))


def _parameter(p: Any) -> str:
    names = (
        ", ".join(f"`{o}`" for o in (*p.opts, *p.secondary_opts))
        if p.param_type_name == "option"
        else f"`{p.name.upper()}`"
    )
    text = (getattr(p, "help", None) or "").replace("|", "\\|").replace("\n", " ")
    return f"| {names} | {text} |"


def failure_classes() -> str:
    """`failure-classes.md`, from data/failure_classes.toml."""
    from kbstats.analytics import taxonomy

    return taxonomy.page()


def audits() -> str:
    """`audits.md`, from the headers of sql/audits."""
    from kbstats.analytics import audit

    return audit.page()


PAGES = {"tables.md": tables, "cli.md": cli, "failure-classes.md": failure_classes, "audits.md": audits}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
