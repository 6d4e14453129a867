"""The failure taxonomy: `data/failure_classes.toml` into the tables that the SQL models read."""

from __future__ import annotations

import functools
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import duckdb

OWNERS = ("model", "harness", "infrastructure", "provider", "suite")
"""Whose failure a class is."""

FIELDS = ("text", "harness", "diagnostic", "metadata_error", "feedback", "source_outcome")
"""What a rule may look at; sql/models/failure_texts.sql says where each comes from."""


@functools.cache
def raw() -> bytes:
    """The file's bytes; part of the hash that tells whether a database's models are current."""
    return files("kbstats.data").joinpath("failure_classes.toml").read_bytes()


@functools.cache
def classes() -> tuple[dict[str, Any], ...]:
    """Failure classes in the order in which their rules are tried."""
    import tomllib

    return tuple(tomllib.loads(raw().decode("utf-8"))["class"])


@functools.cache
def rules() -> tuple[tuple[int, str, str, str | None, str | None], ...]:
    """All rules as rows of `failure_rules`: number (from 1), class, field, needle, pattern."""
    flat = [(c["id"], r) for c in classes() for r in c["rule"]]
    return tuple((i, cls, r["field"], r.get("needle"), r.get("pattern")) for i, (cls, r) in enumerate(flat, 1))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _condition(needle: str | None, pattern: str | None, *, folded: bool = False) -> str:
    """SQL that says whether a rule matches `body`; of labels the case does not count (`folded`)."""
    if folded:
        needle, pattern = needle and needle.lower(), pattern and f"(?i){pattern}"
    text = "lower(body)" if folded else "body"
    parts = [f"contains({text}, {_literal(needle)})"] if needle else []
    parts += [f"regexp_matches(body, {_literal(pattern)})"] if pattern else []
    return " and ".join(parts)


def _words(field: str, needle: str | None, pattern: str | None) -> str:
    if field == "source_outcome":
        return "body"
    return f"regexp_extract(body, {_literal(pattern)})" if pattern else _literal(needle or "")


def macros() -> tuple[str, ...]:
    """Scalar macros over the rules: `<field>_rule(body)` a field, `first_rule(field, body)`, `rule_words(rule, body)`.

    Written out with constant patterns, because DuckDB compiles a pattern that comes from a table
    once a row: 10,000 texts took 22 s that way. Whoever knows the field asks for its macro: all rules
    of all fields take 20 ms to plan. `rule_words` gives what a rule matched. The text comes from our
    own file only.
    """
    made = []
    for field in FIELDS:
        folded = field == "source_outcome"
        own = [(n, needle, pattern) for n, _, f, needle, pattern in rules() if f == field]
        whens = "\n".join(
            f"    when {_condition(needle, pattern, folded=folded)} then {n}" for n, needle, pattern in own
        )
        made.append(f"create or replace macro {field}_rule(body) as case\n{whens}\nend")
    fields = "\n".join(f"    when {_literal(field)} then {field}_rule(body)" for field in FIELDS)
    words = "\n".join(f"    when {n} then {_words(field, needle, pattern)}" for n, _, field, needle, pattern in rules())
    return (
        *made,
        f"create or replace macro first_rule(field, body) as case field\n{fields}\nend",
        f"create or replace macro rule_words(rule, body) as case rule\n{words}\nend",
    )


def load(con: duckdb.DuckDBPyConnection) -> None:
    """Fill `failure_classes` and `failure_rules` anew, and replace the macros over them."""
    con.execute("delete from failure_rules")
    con.execute("delete from failure_classes")
    columns = ("id", "title", "owner", "outcome", "meaning", "advice")
    con.execute(  # a column a list, not a statement a row
        "insert into failure_classes select unnest($1), unnest($2), unnest($3), unnest($4), unnest($5), unnest($6)",
        [[c[name] for c in classes()] for name in columns],
    )
    con.execute(
        "insert into failure_rules select unnest($1), unnest($2), unnest($3), unnest($4), unnest($5)",
        [list(column) for column in zip(*rules(), strict=True)],
    )
    for macro in macros():
        con.execute(macro)


def page() -> str:
    """The text of `docs/failure-classes.md`; a test compares the two."""
    out = [
        "# Failure classes",
        "",
        "Why a tool call or a run failed, and whose failure it is. The first rule that matches names the class, in",
        'the order of this page: infrastructure and time limits first, because harnesses file both under "did not',
        'compile". Rules, with two examples that match and two that do not, stand in `data/failure_classes.toml`; a',
        "new one takes effect when a database is next opened for writing. What no rule names is `unclassified`:",
        "`kbstats failures --unclassified` prints those texts.",
        "",
        "The owner says who would have to change something: the `model`, the `harness`, the `infrastructure` under",
        "it, the model's `provider`, or the `suite`. `kbstats leaderboard --exclude-infra` takes out runs that ended",
        'by a class of `harness` or `infrastructure`. "Ends as" is the outcome of a run whose last submission failed',
        "so.",
        "",
        "`kbstats failures` counts failing calls and failed runs by class, owner, model, problem, sweep or tool.",
        "`--runs` lists every failed run with the words that decided, where they stand in the text and by which rule.",
        "`--patterns` shows failures of whole sweeps: the same class on 80 % of it or of a model's runs, or on ten",
        "problems in a row, by something that is not the kernels' doing (`sql/models/sweep_patterns.sql`); such runs",
        "carry the finding `sweep_invalid`. `--paths` shows how agents move between states, the turns each class",
        "costs and how often a run gets over it, the same error again on the same kernel, which tools precede a",
        "pass, how much changes from one kernel to the next, and what a model has after so many turns.",
        "",
    ]
    for c in classes():
        fields = ", ".join(dict.fromkeys(r["field"] for r in c["rule"]))
        out += [
            f"## `{c['id']}`",
            "",
            f"**{c['title']}.** Owner: {c['owner']}. Ends as: `{c['outcome']}`. Looks at: {fields}.",
            "",
            f"{c['meaning']} *What to do:* {c['advice']}",
            "",
        ]
    return "\n".join(out).rstrip() + "\n"
