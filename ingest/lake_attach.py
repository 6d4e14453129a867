"""A database over a lake's parts: the same rows as one plain ingest of the same files gives.

Most rows stay where they are, in Parquet (see `lake_views`), or are copied as they are. Those that several
sources decide together (a run that stands twice, a verification that does, a kernel) take the way of a
plain ingest, in the order of the walk, so that the same one wins.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.ingest import aliases, lake_views, pipeline, readers, store
from kbstats.ingest.batch import columns_of
from kbstats.ingest.decoding import Chunk, FileResult, Task
from kbstats.ingest.errors import KbstatsError
from kbstats.ingest.lake import FILE, KEPT, SOURCES, WALK, Lake
from kbstats.ingest.rows import ROW_TYPES
from kbstats.ingest.transactions import transaction

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb
    import pyarrow as pa
    from kbstats.ingest.lake import Part

META = "lake"
"""Key of `meta`: which lake the tables were filled from, and its state."""
VERIFICATION_TABLES = ("verifications", "verification_checks", "verification_timings")
SHADOWED = ("runs", *store.RUN_TABLES, *VERIFICATION_TABLES, "run_copies", "ingest_issues")
"""Tables in which rows of several sources decide over each other."""
MEMORY = "25%"
"""Share of the machine's memory that filling a database may take; beyond it DuckDB works on disk."""


@dataclass(frozen=True)
class Attached:
    """What an attach did."""

    parts: int
    sources: int
    runs: int
    copies: int
    links: int
    elsewhere: list[Path]
    """Sources that the database held and the lake does not: to be read again."""


def state(lake: Lake, parts: list[Part]) -> str:
    """A word that changes whenever the lake does, or what is made of it."""
    words = ["views/1", str(lake.folder), *(p.key for p in parts)]
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]


def attached(con: duckdb.DuckDBPyConnection) -> str | None:
    """The state of the lake that the tables were filled from."""
    rows = con.execute("select value from meta where key = ?", [META]).fetchall()
    return rows[0][0] if rows else None


def attach(con: duckdb.DuckDBPyConnection, lake: Lake) -> Attached:
    """Put a database over a lake, in one transaction. Stored models are not brought up to date here.

    Args:
        con: A writable connection whose schema is installed, new or attached to a lake before.
        lake: The lake.

    Raises:
        KbstatsError: the database holds other sources and no lake.
    """
    parts = lake.parts()
    held = con.execute("select path from sources").fetchall()
    if held and attached(con) is None:
        hint = "name a new database with --db"
        raise KbstatsError("the database was filled by plain ingests; a lake would replace them", hint=hint)
    con.execute(f"set memory_limit = '{MEMORY}'")
    with transaction(con):
        store.mark_stale(con)
        lake_views.prepare(con)
        for table in (*ROW_TYPES, SOURCES, "run_links"):
            if table not in lake_views.VIEWED:
                con.execute(f"delete from {table}")  # noqa: S608  our names
        if parts:
            live(con, lake, parts)
            con.execute(f"insert into sources by name {_SOURCES}", {"kept": KEPT, "file": FILE})
            dead = replaced(con)
            _shared(con, lake, parts)
            lake_views.note_dead(con)
            copies = _loud(con, lake, parts)
            _fill(con, lake, parts)
            _tidy(con)
        else:
            dead, copies = False, 0
        lake_views.define(con, lake, parts)
        con.execute("insert or replace into meta values (?, ?)", [META, state(lake, parts)])
        con.execute("delete from meta where key = 'model_aliases'")
        by = {p.readers for p in parts}
        readers.note(con, by.pop() if len(by) == 1 else "")
    aliases.apply(con)
    links = pipeline.settle(con, leftovers=dead or any(p.dropped for p in parts))
    have = {r[0] for r in con.execute("select path from sources").fetchall()}
    elsewhere = [Path(r[0]) for r in held if r[0] not in have and Path(r[0]).is_file()]
    n_sources, n_runs = store.count(con, SOURCES), store.count(con, "runs")
    return Attached(len(parts), n_sources, n_runs, copies, links, elsewhere)


def live(con: duckdb.DuckDBPyConnection, lake: Lake, parts: list[Part]) -> None:
    """Find the sources that count, and the part that holds their rows.

    Makes `lake_entries`, all that parts say of sources, and `lake_live`: one row a source, `rows_in`
    the part of its rows, `issues_in` that of its issues, `n` its place in the order of the walk.
    """
    con.execute(
        """
        create or replace temp table lake_entries as
        select *, parse_filename(filename, true) as part, parse_path(filename)[-2] as shard
        from read_parquet(?, filename = true, union_by_name = true, hive_partitioning = false)
        """,
        [lake.files(SOURCES, parts)],
    )
    con.execute(
        """
        create or replace temp table lake_live as
        with
        base as (
            from lake_entries where lake_kind <> $kept
            qualify row_number() over (partition by source_id order by part desc, shard desc, lake_seq desc) = 1
        ),
        kept as (
            from lake_entries where lake_kind = $kept
            qualify row_number() over (partition by source_id order by part desc, shard desc, lake_seq desc) = 1
        )
        select
            b.source_id, b.lake_kind,
            b.shard || '/' || b.part as rows_in,
            coalesce(k.shard || '/' || k.part, b.shard || '/' || b.part) as issues_in,
            k.source_id is not null as is_kept,
            row_number() over (order by b.lake_order, b.part, b.lake_seq) as n
        from base as b
        left join kept as k on k.source_id = b.source_id and k.part > b.part
        where b.lake_kind in ($file, $walk)
        """,
        {"kept": KEPT, "file": FILE, "walk": WALK},
    )


_LAKE_COLUMNS = "part, shard, filename, lake_kind, lake_seq"
_FROM_LIVE = """
from lake_entries as e
join lake_live as l on l.source_id = e.source_id and l.issues_in = e.shard || '/' || e.part
where e.lake_kind = if(l.is_kept, $kept, l.lake_kind)
"""
_SOURCES = (
    f"select e.* exclude ({_LAKE_COLUMNS}, lake_order, lake_rows) {_FROM_LIVE} and l.lake_kind = $file order by l.n"
)
SOURCES_NOW = (
    f"select e.* exclude ({_LAKE_COLUMNS}), l.lake_kind, l.n as lake_seq {_FROM_LIVE} order by lake_seq"
)
"""Rows of `sources` as they are in a lake whose parts are merged; a rejected version stands for its source."""


def replaced(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether rows of some sources do not count any more."""
    n_entries, n_live = con.execute(
        "select (select count(*) from lake_entries), (select count(*) from lake_live)"
    ).fetchall()[0]
    return bool(n_entries > n_live)


def columns(table: str) -> list[str]:
    """The names of a table's columns."""
    return [column for _, column, _ in columns_of(table)]


def rows_of(table: str, select: str) -> str:
    """A select of a table's rows that count; `$files` are its Parquet files. All names are our own."""
    source = "lake_source" if table in store.RUN_TABLES else "source_id"
    place = "issues_in" if table == "ingest_issues" else "rows_in"
    # a row whose run stands in no source of its chunk belongs to nobody, and always counts
    return f"""
        select {select}
        from (
            select *, parse_path(filename)[-2] || '/' || parse_filename(filename, true) as place
            from read_parquet($files, filename = true, file_row_number = true, union_by_name = true,
                hive_partitioning = false)
        ) as p
        left join lake_live as l on l.source_id = p.{source}
        where (l.{place} = p.place or p.{source} is null)
    """  # noqa: S608


def _shared(con: duckdb.DuckDBPyConnection, lake: Lake, parts: list[Part]) -> None:
    """Note what several sources have: `lake_runs`, `lake_results`."""
    for name, table, key in (("lake_runs", "runs", "run_id"), ("lake_results", "verifications", "verification_id")):
        if files := lake.files(table, parts):
            con.execute(
                f"create or replace temp table {name} as "  # noqa: S608  our names
                f"select {key} from ({rows_of(table, f'p.{key}')}) group by all having count(*) > 1",
                {"files": files},
            )
        else:
            con.execute(f"create or replace temp table {name} as select null::varchar as {key} where false")


def _fill(con: duckdb.DuckDBPyConnection, lake: Lake, parts: list[Part]) -> None:
    """Insert what is copied: rows that one source has as they are, the others as `_loud` has left them.

    They go in the order of the walk, as in a plain ingest.
    """
    db = con.execute("select '\"' || replace(current_database(), '\"', '\"\"') || '\"'").fetchall()[0][0]
    for table in ROW_TYPES:
        files = lake.files(table, parts)
        if table in lake_views.VIEWED:
            if table in SHADOWED:
                con.execute(f"insert into {lake_views.OWN}.{table} by name from temp.{table}")
            elif files:
                lake_views.take_kernels(con, files)
            continue
        key = "run_id" if table == "runs" else "verification_id" if table in VERIFICATION_TABLES else None
        shadow = f"temp.{table}" if table in SHADOWED else None
        part_rows = rows_of(table, f"p.* exclude ({_extra(table)}), l.n as lake_n, p.file_row_number as lake_nth")
        part_rows += f" and {key} not in (from {'lake_runs' if table == 'runs' else 'lake_results'})" if key else ""
        own = f"select t.*, l.n as lake_n, t.rowid as lake_nth from {shadow} as t"  # noqa: S608  our names
        own += " left join lake_live as l using (source_id)"
        rows = " union all by name ".join([f"({part_rows})"] * bool(files) + [f"({own})"] * bool(shadow))
        if not rows:
            continue
        names = ", ".join(f'r."{c}"' for c in columns(table))
        con.execute(
            f"insert into {db}.main.{table} by name select {names} from ({rows}) as r order by r.lake_n, r.lake_nth",  # noqa: S608
            {"files": files} if files else {},
        )


def _extra(table: str) -> str:
    return "filename, file_row_number, place" + (", lake_source" if table in store.RUN_TABLES else "")


def _loud(con: duckdb.DuckDBPyConnection, lake: Lake, parts: list[Part]) -> int:
    """Take what several sources share the way of a plain ingest, one source after the other; how many copies.

    It works on temporary tables that hide the database's own by their names.
    """
    for table in SHADOWED:
        model = f"{lake_views.OWN}.{table}" if table in lake_views.VIEWED else table
        con.execute(f"create or replace temp table {table} as from {model} limit 0")
    tables: dict[str, pa.Table] = {}
    for name, of in (("lake_runs", ("runs", *store.RUN_TABLES)), ("lake_results", VERIFICATION_TABLES)):
        key = "run_id" if name == "lake_runs" else "verification_id"
        for table in of:
            if not store.count(con, name) or not (files := lake.files(table, parts)):
                continue
            rows = rows_of(table, f"l.n as lake_n, p.* exclude ({_extra(table)})")
            found = con.sql(f"{rows} and {key} in (from {name})", params={"files": files}).to_arrow_table()
            if found.num_rows:
                tables[table] = found
    return sum(store.insert(con, chunk) for chunk in _chunks(con, tables))


def _chunks(con: duckdb.DuckDBPyConnection, tables: dict[str, pa.Table]) -> Iterator[Chunk]:
    """The shared rows in the order of the walk; a chunk ends where a run or a result comes again."""
    import pyarrow as pa
    import pyarrow.compute as pc

    firsts = [(t, k) for t, k in (("runs", "run_id"), ("verifications", "verification_id")) if t in tables]
    ids: dict[int, set[str]] = {}
    for table, key in firsts:
        for n, value in zip(tables[table]["lake_n"].to_pylist(), tables[table][key].to_pylist(), strict=True):
            ids.setdefault(n, set()).add(value)
    facts = {
        r[0]: r[1:]
        for r in con.execute(
            "select l.n, s.source_id, s.path, s.root, s.format, s.size_bytes, epoch_us(s.mtime), s.status "
            "from lake_live as l join sources as s using (source_id)"
        ).fetchall()
    }
    groups: list[list[int]] = []
    seen: set[str] = set()
    for n in sorted(ids):
        if not groups or not seen.isdisjoint(ids[n]):
            groups.append([])
            seen = set()
        groups[-1].append(n)
        seen |= ids[n]
    for group in groups:
        wanted = pa.array(group, pa.int64())
        rows = {
            name: table.filter(pc.is_in(table["lake_n"], value_set=wanted)).drop_columns(["lake_n"])
            for name, table in tables.items()
        }
        yield Chunk([_result(*facts[n]) for n in group], {k: t for k, t in rows.items() if t.num_rows})


def _result(  # noqa: PLR0917  a row
    source_id: str, path: str, root: str, fmt: str, size: int, mtime_us: int, status: str
) -> FileResult:
    task = Task(source_id, Path(path), path, root or "", fmt, (), size or 0, mtime_us or 0)
    return FileResult(task, None, status)


def _tidy(con: duckdb.DuckDBPyConnection) -> None:
    for name in ("lake_entries", "lake_live", "lake_runs", "lake_results", *SHADOWED):
        con.execute(f"drop table if exists temp.{name}")
