"""`kbstats export`: the tables into files that other tools read, and that kbstats reads back."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from kbstats.ingest.versions import RUN_TABLES, SOURCE_TABLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import duckdb

PART_RUNS = 2000
"""Runs in one part: what a reader holds in memory at a time."""
_OPTIONS = {
    "parquet": "format parquet, compression zstd",
    "csv": "format csv, header true, nullstr '\\N', quote '\"', escape '\"'",
    "jsonl": "format json",
}
_MINE = "run_id in (select run_id from part where n = {n:d})"
_SENT = """
    select kernel_sha256 from tool_calls where {which} and kernel_sha256 is not null
    union select submitted_kernel_sha256 from runs where {which} and submitted_kernel_sha256 is not null
"""
_KERNELS = "select * from kernels where kernel_sha256 in ({sent})"
_FIRST_KERNELS = "select * from kernels where kernel_sha256 in ({sent}) or kernel_sha256 not in ({all_sent})"
"""What no run has sent (verifications, annotations, copies) stands in the first part."""


class Encoding(StrEnum):
    """What the files are."""

    parquet = "parquet"
    csv = "csv"
    jsonl = "jsonl"
    atif = "atif"


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder to write; it must be new or empty.")],
    to: Annotated[Encoding, typer.Option("--to", help="What to write.")] = Encoding.parquet,
    db: Annotated[Path | None, typer.Option(help="Database file.  [default: $KBSTATS_DB or kbstats.duckdb]")] = None,
) -> None:
    """Write the tables into files; `kbstats ingest DIR` reads them back into the same tables.

    Parquet, CSV and JSON lines: one file a table, in parts of 2,000 runs. ATIF: one trajectory.json a
    run, for tools that read the Agent Trajectory Interchange Format, and JSON lines for what belongs
    to no run.

    Example: kbstats export --to parquet out/
    """
    from kbstats.analytics import warehouse
    from kbstats.ingest.errors import UsageError

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError("the folder is not empty", location=folder, hint="name a new one")
    con = warehouse.open_read(db or warehouse.default_db())
    try:
        folder.mkdir(parents=True, exist_ok=True)
        runs, rows = _export(con, folder, to)
    finally:
        con.close()
    typer.echo(f"wrote {runs:,} runs, {rows:,} rows to {folder}")


def _export(con: duckdb.DuckDBPyConnection, folder: Path, to: Encoding) -> tuple[int, int]:
    """Write everything; how many runs and rows."""
    con.execute(
        "create or replace temp table part as select run_id, "
        "(row_number() over (order by run_id) - 1) // ? as n from runs",
        [PART_RUNS],
    )
    ((runs, parts),) = con.execute("select count(*), coalesce(max(n), 0) + 1 from part").fetchall()
    rows = 0
    for n in range(parts):
        encoding = "jsonl" if to is Encoding.atif else to.value
        tables = _queries(n, with_runs=to is not Encoding.atif)
        rows += _part(con, folder / f"part-{n:05d}", encoding, tables) if tables else 0
        if to is Encoding.atif:
            rows += sum(_trajectory(folder / "runs", document) for document in _documents(con, n))
    return runs, rows


def _queries(n: int, *, with_runs: bool) -> dict[str, str]:
    """The select of each table's part; what belongs to no run stands in the first one."""
    mine = _MINE.format(n=n)
    tables = {}
    if with_runs:
        tables["runs"] = f"select * from runs where {mine} order by run_id"  # noqa: S608  no user's text
        for table in RUN_TABLES:
            tables[table] = f"select * from {table} where {mine} order by all"  # noqa: S608
        kernels = _KERNELS if n else _FIRST_KERNELS
        sent = _SENT.format(which=mine)
        tables["kernels"] = kernels.format(sent=sent, all_sent=_SENT.format(which="true")) + " order by kernel_sha256"
    if n == 0:
        for table in SOURCE_TABLES:
            tables[table] = f"select * from {table}"  # noqa: S608
        if not with_runs:
            tables["kernels"] = "select * from kernels order by kernel_sha256"
    return tables


def _part(con: duckdb.DuckDBPyConnection, folder: Path, encoding: str, tables: dict[str, str]) -> int:
    """Write one folder of table files and, last, the manifest that names them."""
    from kbstats.analytics import warehouse
    from kbstats.ingest.formats.kbstats_export import MANIFEST, SCHEMA

    folder.mkdir()
    entries: dict[str, Any] = {}
    for table, query in tables.items():
        name = f"{table}.{encoding}"
        select = _for_csv(con, query) if encoding == "csv" else query
        target = str(folder / name).replace("'", "''")
        # Parquet marks columns as required by what is known of them, which differs between a table and a lake
        con.execute(f"create or replace temp table exported as {select}")
        select = "from exported"
        ((n,),) = con.execute(f"copy ({select}) to '{target}' ({_OPTIONS[encoding]})").fetchall()
        if n:
            entries[table] = {"file": name, "rows": n}
        else:
            (folder / name).unlink(missing_ok=True)
    con.execute("drop table if exists temp.exported")
    manifest = {"schema": SCHEMA, "kbstats_version": warehouse.version(), "encoding": encoding, "tables": entries}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return sum(e["rows"] for e in entries.values())


def _for_csv(con: duckdb.DuckDBPyConnection, query: str) -> str:
    """The same select with every column as text, NULL told from the empty text and from a backslash."""
    columns = con.execute(f"describe {query}").fetchall()
    parts = []
    for name, kind, *_ in columns:
        column = f'"{name}"'
        if kind.endswith("[]"):
            text = f"to_json({column})::varchar"
        elif kind == "TIMESTAMP WITH TIME ZONE":
            text = f"strftime({column} at time zone 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')"
        else:
            text = f"{column}::varchar"
        parts.append(f"if(starts_with({text}, '\\'), '\\' || {text}, {text}) as {column}")
    return f"select {', '.join(parts)} from ({query})"  # noqa: S608  our own columns


def _documents(con: duckdb.DuckDBPyConnection, n: int) -> Iterator[dict[str, Any]]:
    """The runs of one part, each with the rows of its tables."""
    tables: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for table in ("runs", *RUN_TABLES):
        query = f"select * from {table} where run_id in (select run_id from part where n = {n}) order by all"  # noqa: S608
        by_run: dict[str, list[dict[str, Any]]] = {}
        for row in con.sql(query).to_arrow_table().to_pylist():
            by_run.setdefault(row["run_id"], []).append({k: v for k, v in row.items() if v is not None})
        tables[table] = by_run
    sent = _SENT.format(which=_MINE.format(n=n))
    query = _KERNELS.format(sent=sent).replace("select *", "select kernel_sha256, source_code", 1)
    kernels = dict(con.execute(query).fetchall())
    for run_id in sorted(tables["runs"]):
        yield {"kernels": kernels, **{t: by_run.get(run_id, []) for t, by_run in tables.items()}}


def _trajectory(folder: Path, tables: dict[str, Any]) -> int:
    """Write one run as an ATIF trajectory; how many rows it holds."""
    from kbstats.ingest.atif_document import document

    run_id = tables["runs"][0]["run_id"]
    path = folder / run_id / "trajectory.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(document(tables), ensure_ascii=False, default=str), encoding="utf-8")
    return sum(len(rows) for table, rows in tables.items() if table != "kernels")
