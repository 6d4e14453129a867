"""The tables of a database that reads a lake: views over the Parquet where most bytes are, copies of the rest.

What belongs to a run (turns, calls, messages …) and the kernels stay in the lake. Runs, sources, problems
and verifications are copied: they are a few hundred bytes a run, are corrected after they are read (a page
adds to its trajectory, an alias renames a model), and are what every board starts from.

Rows that a view must add or leave out stand in tables of a schema of their own, `lake_own`: for each viewed
table the rows that several sources decided together, and which runs, kernels and sources' old rows of the
lake do not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.ingest.batch import columns_of
from kbstats.ingest.errors import KbstatsError
from kbstats.ingest.versions import RUN_TABLES

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb
    from kbstats.ingest.lake import Lake, Part

VIEWED = (*RUN_TABLES, "kernels")
"""Tables that are views in such a database."""
OWN = "lake_own"
FOLDER = "lake_folder"
"""Key of `meta`: the folder of the lake that the views read."""
PLACE = "parse_path(filename)[-2] || '/' || parse_filename(filename, true)"
"""The part that a row of a file stands in."""
_LISTS = {
    "hidden_runs": "run_id varchar",
    "hidden_kernels": "kernel_sha256 varchar",
    "dead": "source_id varchar, place varchar",
    "parts": "key varchar",
}
"""Runs and kernels that `lake_own` has itself or nobody mentions, rows that newer ones replace, parts that are read."""


def attached(con: duckdb.DuckDBPyConnection) -> str | None:
    """The folder of the lake that this database reads, if it reads one."""
    rows = con.execute("select value from meta where key = ?", [FOLDER]).fetchall()
    return rows[0][0] if rows else None


def parts_of(con: duckdb.DuckDBPyConnection) -> set[str]:
    """Keys of the parts that the views read."""
    return {r[0] for r in con.execute(f"select key from {OWN}.parts").fetchall()}  # noqa: S608  our names


def refuse_traces(con: duckdb.DuckDBPyConnection) -> None:
    """Stop who would put runs into a database whose runs are the lake's, or take some out.

    Raises:
        KbstatsError: the database reads a lake.
    """
    if (folder := attached(con)) is not None:
        raise KbstatsError(
            "the traces of this database are those of a lake", hint=f"`kbstats ingest PATH --lake {folder}`"
        )


def prepare(con: duckdb.DuckDBPyConnection) -> None:
    """Take the viewed tables, or their views of before, away; make the tables of `lake_own`, empty."""
    con.execute(f"create schema if not exists {OWN}")
    views = {r[0] for r in con.execute("select view_name from duckdb_views() where not internal").fetchall()}
    for table in VIEWED:
        if table in views:
            con.execute(f"drop view {table}")
            con.execute(f"delete from {OWN}.{table}")  # noqa: S608  our names
        else:
            con.execute(f"create table {OWN}.{table} as from {table} limit 0")
            con.execute(f"drop table {table}")
    for name, columns in _LISTS.items():
        con.execute(f"create or replace table {OWN}.{name} ({columns})")


def define(con: duckdb.DuckDBPyConnection, lake: Lake, parts: Sequence[Part]) -> None:
    """Make the views, once the tables of `lake_own` are filled."""
    con.executemany(f"insert into {OWN}.parts values (?)", [[p.key] for p in parts] or [[""]])  # noqa: S608
    dead = {r[0] for r in con.execute(f"select distinct place from {OWN}.dead").fetchall()}  # noqa: S608
    for table in VIEWED:
        clean = lake.files(table, [p for p in parts if p.key not in dead or table == "kernels"])
        mixed = lake.files(table, [p for p in parts if p.key in dead and table != "kernels"])
        selects = [_select(table, f"{OWN}.{table}", hidden=False)]
        if clean:
            selects.append(_select(table, _reading(clean)))
        if mixed:
            rows = f"(select *, {PLACE} as place from {_reading(mixed, 'filename = true')})"  # noqa: S608
            rows += f" as p anti join {OWN}.dead as d on d.source_id = lake_source and d.place = p.place"
            selects.append(_select(table, rows))
        con.execute(f"create view {table} as " + " union all ".join(selects))
    con.execute("insert or replace into meta values (?, ?)", [FOLDER, str(lake.folder)])


def _select(table: str, rows: str, *, hidden: bool = True) -> str:
    columns = ", ".join(
        f'cast("{column}" as json) as "{column}"' if kind == "json" else f'"{column}"'
        for _, column, kind in columns_of(table)
    )
    key, names = ("kernel_sha256", "hidden_kernels") if table == "kernels" else ("run_id", "hidden_runs")
    where = f" where {key} not in (from {OWN}.{names})" if hidden else ""
    return f"select {columns} from {rows}{where}"  # noqa: S608  our names


def _reading(files: Sequence[str], *options: str) -> str:
    """The table function. A view takes no parameters: the paths, which no trace names, stand in it as literals."""
    paths = ", ".join("'" + f.replace("'", "''") + "'" for f in files)
    return f"read_parquet([{paths}], {', '.join([*options, 'hive_partitioning = false'])})"


def note_dead(con: duckdb.DuckDBPyConnection) -> None:
    """Note the rows of sources that newer ones replace, from `lake_entries` and `lake_live`; and shared runs."""
    con.execute(
        f"insert into {OWN}.dead select distinct e.source_id, e.shard || '/' || e.part from lake_entries as e "  # noqa: S608
        "anti join lake_live as l on l.source_id = e.source_id and l.rows_in = e.shard || '/' || e.part"
    )
    con.execute(f"insert into {OWN}.hidden_runs from lake_runs")


def take_kernels(con: duckdb.DuckDBPyConnection, files: list[str]) -> None:
    """Kernels that several parts have: each once, of two texts with one hash the one that the walk came upon first."""
    reading = "read_parquet($files, filename = true, union_by_name = true, hive_partitioning = false)"
    con.execute(
        f"insert into {OWN}.hidden_kernels select kernel_sha256 from {reading} group by all having count(*) > 1",  # noqa: S608
        {"files": files},
    )
    con.execute(
        f"insert into {OWN}.kernels by name select * exclude (filename, lake_order) "  # noqa: S608  our names
        f"from {reading} semi join {OWN}.hidden_kernels using (kernel_sha256) "
        "qualify row_number() over (partition by kernel_sha256 order by lake_order, filename) = 1",
        {"files": files},
    )


def collect_garbage(con: duckdb.DuckDBPyConnection, unmentioned: str) -> None:
    """Hide the kernels that nothing mentions; `unmentioned` is the condition that finds them."""
    select = f"select kernel_sha256 from kernels where {unmentioned}"  # noqa: S608  our own words
    con.execute(f"create or replace temp table lake_unmentioned as {select}")
    con.execute(f"delete from {OWN}.kernels where kernel_sha256 in (from lake_unmentioned)")  # noqa: S608
    con.execute(
        f"insert into {OWN}.hidden_kernels from lake_unmentioned where kernel_sha256 not in (from {OWN}.hidden_kernels)"
    )
    con.execute("drop table lake_unmentioned")
