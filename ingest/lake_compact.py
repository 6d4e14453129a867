"""Merging a lake's parts: fewer and larger files, and no rows that newer ones replace."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbstats.ingest import lake_attach, store
from kbstats.ingest.lake import KEPT, PARTS, ROW_GROUP, SORT_KEYS, SOURCES, Lake, Part, whole
from kbstats.ingest.rows import ROW_TYPES

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb

SHARD = "shard=compact"


@dataclass(frozen=True)
class Compacted:
    """What a merge did; bytes are those of the Parquet files."""

    parts_before: int
    parts_after: int
    rows_dropped: int
    bytes_before: int
    bytes_after: int


def compact(lake: Lake) -> Compacted:
    """Merge all parts. Readers see the old ones or the new ones, never both: a rename decides.

    A database that was attached before holds its rows and is not touched. Shards may go on writing
    meanwhile; what they write counts as newer.

    Raises:
        KbstatsError: another process is merging.
    """
    import duckdb

    with lake.lock(SHARD):
        lake.sweep(SHARD)
        before = lake.parts()
        if len(before) < 2:
            n = sum(t["bytes"] for p in before for t in p.tables.values())
            _delete_replaced(lake)
            return Compacted(len(before), len(before), 0, n, n)
        scratch = tempfile.mkdtemp(prefix=".merge-", dir=lake.folder)
        con = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
        try:
            con.execute("set timezone = 'UTC'")
            con.execute("set temp_directory = ?", [scratch])
            con.execute(f"set memory_limit = '{lake_attach.MEMORY}'")
            lake_attach.live(con, lake, before)
            made = _merge(con, lake, before)
        finally:
            con.close()
            shutil.rmtree(scratch, ignore_errors=True)
        _delete_replaced(lake)
    after = lake.parts()

    def total(parts: list[Part], what: str) -> int:
        return sum(t[what] for p in parts for name, t in p.tables.items() if name != "kernels" or what == "bytes")

    return Compacted(
        len(before),
        len(after),
        max(0, total(before, "rows") - total([made], "rows")),
        total(before, "bytes"),
        total(after, "bytes"),
    )


def _merge(con: duckdb.DuckDBPyConnection, lake: Lake, parts: list[Part]) -> Part:
    """One part of them all."""
    digest = hashlib.sha256("\n".join(p.key for p in parts).encode()).hexdigest()[:12]
    # No newer than what it was made of: a shard that wrote meanwhile stays the newer one.
    newest = max(p.name for p in parts).partition("-")[0]
    name = f"{newest}-{digest}"
    tables: dict[str, dict[str, int]] = {}
    for table in (*ROW_TYPES, SOURCES):
        files = lake.files(table, parts)
        if not files:
            continue
        target = lake.folder / table / SHARD / f"{name}.parquet"
        with whole(target) as tmp:
            n = _write(con, table, files, tmp)
        if not n:
            target.unlink()
            continue
        tables[table] = {"rows": n, "bytes": target.stat().st_size}
    return lake.declare(
        Part(
            name,
            SHARD,
            tables,
            replaces=tuple(p.key for p in parts),
            dropped=lake_attach.replaced(con) or any(p.dropped for p in parts),
            made={"of": len(parts), "readers": parts[0].readers if len({p.readers for p in parts}) == 1 else ""},
        )
    )


def _write(con: duckdb.DuckDBPyConnection, table: str, files: list[str], tmp: Path) -> int:
    if table == SOURCES:
        select = lake_attach.SOURCES_NOW
        params: dict[str, object] = {"kept": KEPT}
    elif table == "kernels":
        select = (
            "select * exclude (filename) from read_parquet($files, filename = true, union_by_name = true, "
            "hive_partitioning = false) "
            "qualify row_number() over (partition by kernel_sha256 order by lake_order, filename) = 1"
        )
        params = {"files": files}
    else:
        # the rows of a run together; what has no run in the order of the walk, as attaching it needs them
        of_run = table in store.RUN_TABLES
        keys = [c for c in SORT_KEYS if c in lake_attach.columns(table)] if of_run else ["l.n", "p.file_row_number"]
        rows = lake_attach.rows_of(table, "p.* exclude (filename, file_row_number, place)")
        select = f"{rows} order by {', '.join(keys)}"
        params = {"files": files}
    (n,) = con.execute(
        f"copy ({select}) to '{str(tmp).replace(chr(39), chr(39) * 2)}' "
        f"(format parquet, compression zstd, row_group_size {ROW_GROUP})",
        params,
    ).fetchall()[0]
    return int(n)


def _delete_replaced(lake: Lake) -> None:
    """Delete the parts that a whole merged one replaces: manifests first, so that none counts again.

    Merged parts go last: as long as one of theirs is there, their manifest says that it does not count.
    """
    import json

    manifests = [json.loads(m.read_text(encoding="utf-8")) for m in (lake.folder / PARTS / SHARD).glob("*.json")]
    for key in sorted((key for m in manifests for key in m["replaces"]), key=lambda k: k.startswith(SHARD)):
        shard, _, name = key.partition("/")
        (lake.folder / PARTS / shard / f"{name}.json").unlink(missing_ok=True)
        for table in (*ROW_TYPES, SOURCES):
            (lake.folder / table / shard / f"{name}.parquet").unlink(missing_ok=True)
