"""Write the reference pages that the code itself defines; tests/test_docs.py compares them.

usage: python docs/generate.py
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbstats.sql.catalog import SqlFile

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
    out += ["# Models", "", "What is computed from the tables. Stored is a table, computed when an ingest ends; a"]
    out.append("view is computed by who asks; a table macro takes arguments: `from name(argument := value)`.\n")
    for m in catalog.models():
        row = "" if m.header["grain"] == "scalar" else f" One row: {m.header['grain']}."
        reads = f" Reads: {m.header['inputs']}." if m.header["inputs"] else ""
        out += [f"## {m.name}", "", f"{_what(m)}: {m.header['purpose']}.{row}{reads}", ""]
    return "\n".join(out).rstrip() + "\n"


def _what(m: SqlFile) -> str:
    """What a model is in the database."""
    if m.stored:
        return "Stored"
    if "create or replace view" in m.sql:
        return "View"
    if "create or replace macro" in m.sql:
        return "Macro" if m.header["grain"] == "scalar" else "Table macro"
    return "Table"


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


def verdicts() -> str:
    """`verdicts.md`: the words from `analytics/verify/schema.py`, what each does by asking the models themselves."""
    from typing import get_args

    from kbstats.analytics.verify.schema import Word
    from kbstats.site import words

    out = [NOTE, _VERDICTS_HEAD]
    for word in get_args(Word):
        verified, audited = _standing(word)
        out.append(f"| `{word}` | {words.VERDICTS[word][1]} | {verified} | {audited} |")
    return "\n".join([*out, _VERDICTS_END]) + "\n"


_VERDICTS_HEAD = """# Verdicts

What `kbstats verify` says of a kernel, and what that does to a run that submitted it and claimed 2.0x on the GPU
model it was run on. `WORD:kind` says more: which hack, which precision, why unverifiable. The rules are in
`sql/models/run_verifications.sql` and `run_trust.sql`; how a verdict is reached: [verification](verification.md).

| verdict | meaning | on the verified board | on the audited board |
|---|---|---|---|"""
_VERDICTS_END = """
A result without the sandbox's required layers, or from a CPU, never ranks and refutes nothing. Of several results for
one kernel, reference, precision and GPU model a witnessed `INCORRECT` or `HACK` wins, else the newest protocol, in
it one that decided, then the newest date; `UNVERIFIABLE` displaces none."""


def _standing(word: str) -> tuple[str, str]:
    """What a verdict does to a run that claims 2.0x on the same GPU model: verified and audited."""
    import duckdb
    from kbstats.analytics import taxonomy
    from kbstats.sql import catalog

    con = duckdb.connect()
    catalog.create_schema(con)
    con.execute(_RUN)
    # A measured speedup that fits the word, so that the word itself is what stands.
    measured = {"CONFIRMED": 2.0, "CONFIRMED_FASTER": 3.0, "SLOWER_THAN_CLAIMED": 1.5, "NO_SPEEDUP": 1.0}.get(word)
    con.execute(_RESULT, {"word": word, "x": measured})
    taxonomy.load(con)
    catalog.install_models(con)
    rows = con.execute("select trust, counts_correct, speedup, reason from run_trust where run_id = 'r'").fetchall()
    found = {trust: rest for trust, *rest in rows}

    def said(trust: str, much: str) -> str:
        counts, speedup, reason = found[trust]
        if not counts:
            return f"does not count (`{reason}`)"
        if trust == "verified" and reason == "reduced_precision":
            return "counts on the board of that precision only"
        if speedup is None:
            return f"correct, no speedup (`{reason}`)"
        return "correct, not fast" if speedup <= 1 else much

    return said("verified", "counts, with the measured speedup"), said("audited", "the claim counts")


_RUN = """
insert into runs by name select
    'r' as run_id, 's' as source_id, 'popcornbench' as format, 'kb' as suite, 1 as level, '1_A.py' as problem_name,
    'correct' as source_outcome, true as correct, 2.0 as speedup, 50.0 as runtime_us, 'k' as submitted_kernel_sha256,
    'NVIDIA H200' as hardware
"""
_RESULT = """
insert into verifications by name select
    'v' as verification_id, 's' as source_id, 'k' as kernel_sha256, 'kb' as suite, 1 as level,
    '1_A.py' as problem_name, 'fp32' as precision, $word as verdict, 'tf32' as kind, 'cuda' as device,
    'NVIDIA H200' as gpu_model, true as sandbox_ok, 'kbv-3' as protocol, 'passed' as correctness, 'faster' as speed,
    2.0 as claimed_speedup, $x::double as speedup, $x * 0.99 as speedup_lo, $x * 1.01 as speedup_hi, '{}' as witness,
    timestamptz '2026-01-01' as verified_at
"""

PAGES = {
    "tables.md": tables,
    "cli.md": cli,
    "failure-classes.md": failure_classes,
    "audits.md": audits,
    "verdicts.md": verdicts,
}


def main() -> None:
    """Write all pages."""
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
