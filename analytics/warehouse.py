"""The database file: opening it for one writer or many readers, and keeping its models current.

One DuckDB file holds everything. It can always be rebuilt from its sources, so a file of another
schema version is refused with the command that rebuilds it, never migrated; views and macros are
replaced whenever the installed package's own differ.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.analytics import lakes
from kbstats.ingest.errors import DatabaseError, UsageError
from kbstats.ingest.transactions import transaction
from kbstats.sql import catalog

if TYPE_CHECKING:
    import duckdb
    from kbstats.ingest.changes import Changes

DEFAULT_NAME = "kbstats.duckdb"

# Nothing is fetched behind the user's back: what a query needs is in the wheel or is refused.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
# A new file: blocks of 16 KB, since each of some forty tables takes at least one; texts in zstd.
_STORAGE: dict[str, str | bool | int | float | list[str]] = {"default_block_size": 16384}
REFRESH_MB = 80
"""Memory for each thread while stored models are computed; beyond it the database works on disk, where it can."""
# Read-only alone still reads any file and writes by COPY. Set once the connection is otherwise
# configured: from then on nothing can be changed back.
_SEAL = ("set enable_external_access = false", "set lock_configuration = true")


def default_db() -> Path:
    """`$KBSTATS_DB`, else `kbstats.duckdb` in the working folder."""
    return Path(os.environ.get("KBSTATS_DB") or DEFAULT_NAME)


def version() -> str:
    """The installed version of kbstats."""
    from importlib import metadata

    try:
        return metadata.version("kbstats")
    except metadata.PackageNotFoundError:  # a source tree on the path, not installed
        return "0+unknown"


def is_newer(other: str) -> bool:
    """Whether a version is newer than the installed one, by its first three numbers."""

    def numbers(text: str) -> list[int]:
        return [int(n) for n in re.findall(r"\d+", text.split("+", maxsplit=1)[0])[:3]]

    return numbers(other) > numbers(version())


def _connect(path: Path, *, read_only: bool, sealed: bool = False) -> duckdb.DuckDBPyConnection:
    import duckdb

    try:
        con = duckdb.connect(str(path), read_only=read_only, config=_CONFIG if read_only else _CONFIG | _STORAGE)
    except duckdb.IOException as e:
        raise _explained(path, str(e)) from e
    except duckdb.Error as e:
        hint = "it is damaged or no DuckDB file; move it away and ingest again"
        raise DatabaseError(f"cannot open the database ({_first(e)})", location=path, hint=hint) from e
    con.execute("set timezone = 'UTC'")
    if sealed:
        lakes.let_in(con, _meta(con))
        for statement in _SEAL:
            con.execute(statement)
    return con


def one_statement(con: duckdb.DuckDBPyConnection, text: str) -> duckdb.Statement:
    """The one statement of a user's text.

    Raises:
        UsageError: it does not parse, or holds none or several.
        KbstatsError: it would write a file into the lake that the database reads.
    """
    import duckdb

    try:
        statements = con.extract_statements(text)
    except duckdb.Error as e:
        raise UsageError(f"the query does not parse: {said(e)}") from e
    if len(statements) != 1:
        raise UsageError(f"one query at a time, this text holds {len(statements)}")
    lakes.keep_out(con, text, str(statements[0].type).rpartition(".")[2])
    return statements[0]


def said(e: Exception) -> str:
    """The error of DuckDB's message, and the candidates that it suggests."""
    return " ".join(line.strip() for line in str(e).splitlines()[:3] if line.strip())[:300]


def _first(e: Exception) -> str:
    return str(e).splitlines()[0][:200]


def _explained(path: Path, text: str) -> DatabaseError:
    """DuckDB's own words on a locked or unreadable file, as one line that names the holder."""
    if "lock" in text.lower():
        holder = re.search(r"held in (?P<name>.*?) \(PID (?P<pid>\d+)\)", text)
        who = f"process {holder['pid']} ({holder['name']})" if holder else "another process"
        return DatabaseError(f"the database is in use by {who}", location=path, hint="wait for it, or use --wait")
    if "not a valid duckdb database" in text.lower():
        return DatabaseError("this file is no DuckDB database", location=path, hint="name another file with --db")
    if "permission denied" in text.lower() or "read-only file system" in text.lower():
        hint = "make the file and its folder writable, or name another with --db"
        return DatabaseError("the database cannot be opened for this: permission denied", location=path, hint=hint)
    return DatabaseError(
        f"cannot open the database ({text.splitlines()[0][:200]})", location=path, hint="name another file with --db"
    )


def _meta(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    import duckdb

    try:
        return dict(con.execute("select key, value from meta").fetchall())
    except duckdb.CatalogException:
        return {}


def _models_digest() -> str:
    from kbstats.analytics import taxonomy

    return catalog.digest("models", "audits", extra=taxonomy.raw())


def _check_schema(path: Path, found: dict[str, str]) -> None:
    if found.get("schema_hash") == catalog.digest("schema"):
        return
    made_by = found.get("kbstats_version")
    if not made_by:
        raise DatabaseError("no kbstats database", location=path, hint="name another with --db")
    if is_newer(made_by):
        what = f"the database was made by kbstats {made_by}, and this is {version()}"
        raise DatabaseError(what, location=path, hint="update kbstats, or name another file with --db")
    what = f"the database was made by kbstats {made_by}, whose tables differ"
    hint = f"`kbstats ingest PATH --db {path}` reads its sources again into a new one and keeps the old"
    raise DatabaseError(what, location=path, hint=hint)


def _install(con: duckdb.DuckDBPyConnection) -> None:
    """Replace views, macros and the taxonomy's tables, and fill the stored models."""
    from kbstats.analytics import taxonomy

    taxonomy.load(con)
    catalog.install_models(con)
    con.executemany(
        "insert or replace into meta values (?, ?)",
        [("models_hash", _models_digest()), ("kbstats_version", version())],
    )


def open_write(path: Path, *, models: bool = True, lake: bool = True) -> duckdb.DuckDBPyConnection:
    """Open for writing; a new file gets its tables, models and taxonomy.

    Args:
        path: The database file.
        models: Bring models up to this version; without, the next `refresh` does, once for all.
        lake: The lake that the database reads must be there; without, it is about to be attached.

    Raises:
        DatabaseError: locked by another process, damaged, of another schema version, or its lake is gone.
    """
    path = lakes.database_of(path)
    new = not path.exists()
    if new and not path.parent.is_dir():
        hint = f"`mkdir -p {path.parent}`, or name another with --db"
        raise DatabaseError("the folder of the database does not exist", location=path.parent, hint=hint)
    con = _connect(path, read_only=False)
    try:
        # a transaction larger than this goes straight to the file, and is never written to the log
        con.execute("set checkpoint_threshold = '1MB'")
        con.execute("set force_compression = 'zstd'")
        if new or not con.execute("select 1 from duckdb_tables() limit 1").fetchall():
            # Also a file that was made, and whose maker was stopped before it made tables.
            con.execute("begin")
            catalog.create_schema(con)
            con.execute("insert into meta values ('schema_hash', ?)", [catalog.digest("schema")])
            con.execute("commit")
        found = _meta(con)
        _check_schema(path, found)
        if lake:
            lakes.check(con, path, found)
        if models and not is_current(con):
            with transaction(con):
                _install(con)
    except BaseException:
        con.close()
        raise
    return con


def open_read(path: Path, *, sealed: bool = False) -> duckdb.DuckDBPyConnection:
    """Open for reading; several readers may stand side by side.

    Args:
        path: The database file.
        sealed: Also forbid every access to other files, for queries that a user wrote.

    Raises:
        DatabaseError: missing, locked by a writer, damaged, of another schema version, or its lake is gone.
    """
    path = lakes.database_of(path)
    if not path.exists():
        from kbstats.analytics.next_steps import elsewhere

        hint = "run `kbstats ingest PATH` first, or name one with --db"
        if other := elsewhere(path):
            hint = f"there is one at {other}: name it with --db, or run `kbstats ingest PATH` here"
        raise DatabaseError("no database", location=path, hint=hint)
    con = _connect(path, read_only=True, sealed=sealed)
    try:
        found = _meta(con)
        _check_schema(path, found)
        lakes.check(con, path, found)
    except BaseException:
        con.close()
        raise
    if found.get("models_hash") != _models_digest() or found.get("derived") == "stale":
        con.close()
        _catch_up(path)
        con = _connect(path, read_only=True, sealed=sealed)
    return con


def _catch_up(path: Path) -> None:
    """Install the models of this version, and do what an ingest that was stopped has not done."""
    try:
        writer = open_write(path)
    except DatabaseError as e:
        if "in use" in e.message:
            raise
        what = "what is computed from the tables is not of this version, or an ingest was stopped half way"
        hint = "open it once where it can be written, or copy it there"
        raise DatabaseError(f"{what}, and the database cannot be written", location=path, hint=hint) from e
    with contextlib.closing(writer):
        if is_stale(writer):
            finish(writer)


def is_current(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the models in the database are those of this version."""
    return _meta(con).get("models_hash") == _models_digest()


def is_stale(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether tables changed since links and stored models were brought up to date."""
    return _meta(con).get("derived") == "stale"


def refresh(con: duckdb.DuckDBPyConnection, changed: Changes | None = None) -> None:
    """Bring stored models up to date after tables changed, and write everything to the file.

    Args:
        con: The writable connection.
        changed: What changed since the last time, where nothing else did that a run's own rows depend
            on (`ingest.changes.take`); None computes everything again.
    """
    import duckdb

    with contextlib.suppress(duckdb.Error):  # what is in use may not go below it
        threads = con.execute("select current_setting('threads')").fetchall()[0][0]
        con.execute("set memory_limit = ?", [f"{REFRESH_MB * threads}MB"])
    try:
        _refresh(con, changed)
    except duckdb.OutOfMemoryException:  # nothing is lost: it was one transaction
        con.execute("reset memory_limit")
        _refresh(con, changed)
    con.execute("reset memory_limit")
    con.execute("checkpoint")


def _refresh(con: duckdb.DuckDBPyConnection, changed: Changes | None) -> None:
    from kbstats.analytics import intervals
    from kbstats.sql.refresh import refresh_stored

    with transaction(con):
        if is_current(con):
            refresh_stored(con, changed)
        else:
            _install(con)
        intervals.store(con)
        con.execute("delete from meta where key = 'derived'")


def finish(con: duckdb.DuckDBPyConnection) -> None:
    """Do what an ingest that was stopped half way has not done: links, leftovers, stored models."""
    from kbstats.ingest import pipeline

    pipeline.settle(con)
    refresh(con)
