"""The catalogue of SQL files: what there is, in which order it installs, and installing it.

Three kinds of file, one statement's worth of meaning each:

* ``schema/<table>.sql``  a table. Created once; a changed schema means a rebuilt database.
* ``models/<model>.sql``  a view or a table macro. Replaced whenever the files change.
* ``audits/<code>.sql``   a select that returns one row per finding: ``run_id, message, value,
  threshold``. The catalogue unites them in the stored model ``audit_findings``.

A file starts with a header of ``-- key: text`` lines (text may go on in ``--   `` lines). Keys of
models: ``purpose, grain, inputs`` and, where the result is stored at the end of an ingest instead
of computed by each reader, ``stored: yes``. A stored model whose rows depend on one run or one
kernel alone says so with ``changes: run_id`` or ``changes: kernel_sha256``, one whose rows depend on
problems, links and the runs' own problems alone with ``changes: problems``: after an ingest only
what changed is computed again (`sql.refresh`). Keys of audits: ``purpose, severity, blocks,
threshold`` (the threshold's source) and ``doubts``, the numbers that a finding casts doubt on: names of
metrics, in which ``*`` stands for any characters, or ``speedup`` and ``runtime``, the run's own. Both may
say what they find nothing without: ``needs: verifications`` a row of a table, ``needs: metrics(a, *b)``
one metric of such names.
"""

from __future__ import annotations

import functools
import hashlib
import re
from dataclasses import dataclass, field
from importlib.resources import files
from typing import TYPE_CHECKING

from kbstats.ingest.errors import KbstatsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

FINDINGS = "audit_findings"
"""The model that unites the audits."""
_HEADER = re.compile(r"--\s(?P<key>[a-z_]+):\s*(?P<text>.*)")
_COMMENT = re.compile(r"\s*--[^\n]*")
_MORE = re.compile(r"--\s{2,}(?P<text>.*)")
_NEED = re.compile(r"(\w+)(?:\(([^)]*)\))?")
_CREATE = re.compile(
    r"create\s+(?:or\s+replace\s+)?(?:table|view|macro)\s+(?:if\s+not\s+exists\s+)?(\w+)", re.IGNORECASE
)


@dataclass(frozen=True)
class SqlFile:
    """One SQL file: its name, its header and its statement."""

    kind: str
    name: str
    sql: str
    header: dict[str, str] = field(default_factory=dict)

    @property
    def stored(self) -> bool:
        """The result is kept as a table, refreshed at the end of each ingest."""
        return self.header.get("stored", "no") == "yes"

    @property
    def changes(self) -> str | None:
        """The column by which rows may be computed alone, a run's or a kernel's own; or `problems`."""
        return self.header.get("changes")

    @property
    def needs(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Tables that must hold a row for this to hold one, each with the words of which it must hold one."""
        found = _NEED.findall(self.header.get("needs", ""))
        return tuple((table, tuple(w.strip() for w in words.split(",") if w.strip())) for table, words in found)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Names of the numbers that a finding doubts; a ``*`` stands for any characters."""
        return tuple(name.strip() for name in self.header.get("doubts", "").split(",") if name.strip())


def _parse(kind: str, name: str, text: str) -> SqlFile:
    header: dict[str, str] = {}
    key = ""
    for line in text.splitlines():
        if m := _HEADER.fullmatch(line.strip()):
            key = m["key"]
            header[key] = m["text"].strip()
        elif key and (m := _MORE.fullmatch(line.strip())):
            header[key] += " " + m["text"].strip()
        else:
            break
    return SqlFile(kind, name, text, header)


@functools.cache
def sql_files(kind: str) -> tuple[SqlFile, ...]:
    """All files of a kind (``schema``, ``models``, ``audits``), by name."""
    folder = files("kbstats.sql").joinpath(kind)
    found = [f for f in folder.iterdir() if f.name.endswith(".sql")] if folder.is_dir() else []
    return tuple(_parse(kind, f.name[:-4], f.read_text(encoding="utf-8")) for f in sorted(found, key=lambda f: f.name))


def digest(*kinds: str, extra: bytes = b"") -> str:
    """A hash of the statements of some kinds: it tells whether a database was made by these very files.

    Comments of tables do not count, so that a better word in a column's documentation makes nobody
    rebuild; those of models and audits do, since their headers say what is stored and what is blocked.
    """
    h = hashlib.sha256(extra)
    for kind in kinds:
        for f in sql_files(kind):
            text = _COMMENT.sub("", f.sql) if kind == "schema" else f.sql
            h.update(f"{kind}/{f.name}\0{' '.join(text.split())}\0".encode())
    return h.hexdigest()[:16]


def references(sql: str) -> set[str]:
    """Names of tables, views and table macros that a statement reads (its own CTEs excepted).

    Raises:
        KbstatsError: the statement does not parse.
    """
    import sqlglot
    from sqlglot import exp

    names: set[str] = set()
    try:
        trees = [t for t in sqlglot.parse(sql, read="duckdb") if t is not None]
    except sqlglot.errors.ParseError as e:
        raise KbstatsError(f"SQL does not parse: {str(e).splitlines()[0]}") from e
    for tree in trees:
        ctes = {c.alias_or_name for c in tree.find_all(exp.CTE)}
        targets = {id(t) for c in tree.find_all(exp.Create) for t in [c.this, *c.this.find_all(exp.Table)][:2]}
        for table in tree.find_all(exp.Table):
            if id(table) in targets:
                continue
            inner = table.this
            name = inner.name if isinstance(inner, (exp.Identifier, exp.Anonymous)) else ""
            if name and name not in ctes:
                names.add(name)
    return names


def _known(sql: str, names: set[str]) -> set[str]:
    """The names of the catalogue that a statement mentions, without a parser's help.

    Table macros' bodies are beyond sqlglot in places; a name of ours as a whole word in the
    statement (comments and strings taken out) is a reference in every case we have, and an extra
    edge only orders two files.
    """
    bare = re.sub(r"--[^\n]*|'(?:[^']|'')*'", " ", sql)
    return names & set(re.findall(r"[a-z_][a-z0-9_]*", bare))


@functools.cache
def models() -> tuple[SqlFile, ...]:
    """Models in an order in which each stands after those it reads.

    Raises:
        KbstatsError: the files refer to each other in a circle.
    """
    todo = {f.name: f for f in sql_files("models")}
    names = {*todo, FINDINGS}
    needs = {name: _known(f.sql, names) - {name} for name, f in todo.items()}
    if FINDINGS not in todo:
        needs[FINDINGS] = set().union(*(_known(a.sql, set(todo)) for a in sql_files("audits")), set())
        todo[FINDINGS] = _findings()
    done: list[SqlFile] = []
    placed: set[str] = set()
    while len(done) < len(needs):
        ready = sorted(n for n, deps in needs.items() if n not in placed and deps <= placed)
        if not ready:
            circle = ", ".join(sorted(set(needs) - placed))
            raise KbstatsError(f"SQL models refer to each other in a circle: {circle}")
        placed.update(ready)
        done += [todo[n] for n in ready]
    return tuple(done)


def select_of(f: SqlFile) -> str:
    """An audit's select, without its header and closing semicolon."""
    body = [line for line in f.sql.splitlines() if not line.lstrip().startswith("--")]
    return "\n".join(body).strip().rstrip(";")


def findings(audits: Sequence[SqlFile]) -> str:
    """A select that unites some audits. Its text comes from our own files only, never from a user."""
    empty = (
        "select null::varchar as code, null::varchar as severity, null::varchar as blocks, null::varchar as run_id, "
        "null::varchar as message, null::double as value, null::double as threshold where false"
    )
    parts = [
        f"select '{a.name}' as code, '{a.header['severity']}' as severity, '{a.header['blocks']}' as blocks, "
        f"f.run_id, f.message, cast(f.value as double) as value, cast(f.threshold as double) as threshold\n"
        f"from (\n{select_of(a)}\n) as f"
        for a in audits
    ]
    return "\nunion all\n".join([empty, *parts])


def _findings() -> SqlFile:
    header = {
        "purpose": "everything the audits found",
        "grain": "one finding",
        "inputs": "sql/audits/*.sql",
        "stored": "yes",
    }
    sql = f"create or replace view {FINDINGS} as\n{findings(sql_files('audits'))};\n"
    return SqlFile("models", FINDINGS, sql, header)


def create_schema(con: duckdb.DuckDBPyConnection) -> None:
    """Create all tables in an empty database."""
    for f in sql_files("schema"):
        con.execute(f.sql)


def install_models(con: duckdb.DuckDBPyConnection) -> None:
    """Create or replace all views and macros, stored ones as tables, in order."""
    for f in models():
        if f.stored:
            con.execute(_as_source(f))
            if _is_view(con, f.name):
                con.execute(f"drop view {f.name}")
            con.execute(f"create or replace table {f.name} as from {f.name}__source")
        else:
            con.execute(f.sql)


def _as_source(f: SqlFile) -> str:
    """The same statement, creating the view `<name>__source`."""
    return _CREATE.sub(lambda m: m[0].replace(m[1], m[1] + "__source"), f.sql, count=1)


def _is_view(con: duckdb.DuckDBPyConnection, name: str) -> bool:
    return bool(con.execute("select 1 from duckdb_views() where view_name = ?", [name]).fetchall())
