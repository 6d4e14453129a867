"""The tables as Parquet and CSV, ordered, through the same redaction as the pages.

Whole columns are scanned by the database (`Redactor.scan`); only values in which it finds something are
looked at one by one. Batches bound the memory.
"""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kbstats.sql.describe import tables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import duckdb
    from kbstats.site.context import Site
    from kbstats.sql.describe import TableDoc

BATCH = 4_096
"""Rows at a time."""
LONG = frozenset({"messages", "tool_calls", "kernels", "verifications"})
"""Tables of long texts: Parquet alone, as a CSV of them helps nobody."""
OWN = frozenset({"meta", "failure_rules"})
"""Tables about the database itself."""
VIEWS = {
    "run_outcomes": "what became of each run, derived from its evidence",
    "run_trust": "what counts at each level of trust, with its speedup",
    "audit_findings": "every finding of the audit",
}
"""Results of the models that are worth a file, and what they hold."""


@dataclass(frozen=True)
class Table:
    """A table to publish: its name, what it holds, and its columns' documentation where there is one."""

    name: str
    purpose: str
    doc: TableDoc | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Its files, from the site's root."""
        name = self.name.replace("_", "-")
        return (f"data/{name}.parquet",) if self.name in LONG else (f"data/{name}.parquet", f"data/{name}.csv")


def published() -> list[Table]:
    """Tables and views in the order of the data page."""
    found = [Table(t.name, t.purpose, t) for t in tables() if t.name not in OWN]
    return found + [Table(name, purpose) for name, purpose in VIEWS.items()]


def state(con: duckdb.DuckDBPyConnection, table: Table) -> str:
    """A hash over a table's rows; a kernel's own hash stands for its source."""
    rows = "(select * exclude (source_code) from kernels)" if table.name == "kernels" else table.name
    sql = f"select count(*), bit_xor(hash(t)) from {rows} as t"  # noqa: S608  a name of ours
    return repr(con.execute(sql).fetchone())


def _columns(con: duckdb.DuckDBPyConnection, table: Table) -> list[tuple[str, bool]]:
    """Column names, and whether each is written as text: JSON and lists are."""
    found = con.execute(f"describe {table.name}").fetchall()
    return [(r[0], r[1] in ("VARCHAR", "JSON") or r[1].endswith("[]")) for r in found]


def _batches(site: Site, table: Table) -> Iterator[Any]:
    """Record batches in order, cleaned."""
    columns = _columns(site.con, table)
    as_text = {name for name, text in columns if text}
    picked = [
        f'cast("{c}" as varchar) as "{c}", regexp_matches(cast("{c}" as varchar), $scan) as "{c} scan"'
        if c in as_text
        else f'"{c}"'
        for c, _ in columns
    ]
    order = ", ".join(
        f'"{c}"' for c, _ in columns if c not in ("text", "result_text", "source_code", "document", "metadata")
    )
    params = {"scan": site.redact.scan} if as_text else {}
    for part, bounds in _parts(table):
        sql = f"select {', '.join(picked)} from {table.name} {part} order by {order}"  # noqa: S608  names of ours
        relation = site.con.sql(sql, params=params | bounds) if params | bounds else site.con.sql(sql)
        yield from _cleaned(site, relation.to_arrow_reader(BATCH if table.name not in LONG else BATCH // 8), columns)


def _parts(table: Table) -> Iterator[tuple[str, dict[str, str]]]:
    """Conditions that take a table in parts, in order: all sources at once would be sorted in memory."""
    if table.name != "kernels":
        yield "", {}
        return
    ends = ["0", "8", "\U0010ffff"]
    for low, high in itertools.pairwise(ends):
        yield "where kernel_sha256 >= $low and kernel_sha256 < $high", {"low": low if low != "0" else "", "high": high}


def _cleaned(site: Site, batches: Any, columns: list[tuple[str, bool]]) -> Iterator[Any]:
    """Record batches with what must be hidden hidden; their columns are `columns` and the scans of those of text."""
    import pyarrow as pa

    as_text = {name for name, text in columns if text}
    for batch in batches:
        arrays = []
        for c, _ in columns:
            column = batch.column(batch.schema.get_field_index(c))
            if c in as_text:
                column = _clean(column, batch.column(batch.schema.get_field_index(f"{c} scan")), site.text)
            elif pa.types.is_timestamp(column.type):
                column = column.cast(pa.timestamp("us", tz="UTC"))
            arrays.append(column)
        yield pa.RecordBatch.from_arrays(arrays, names=[c for c, _ in columns])


def _clean(column: Any, flagged: Any, text: Callable[[str], str]) -> Any:
    """The column with each flagged value cleaned."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = column.cast(pa.string())
    mask = pc.fill_null(flagged, fill_value=False)
    if not pc.any(mask).as_py():
        return column
    return pc.replace_with_mask(column, mask, pa.array([text(v) for v in column.filter(mask).to_pylist()], pa.string()))


def write(site: Site, table: Table, parquet: Path, plain: Path | None) -> None:
    """Write a table's files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    out = plain.open("w", encoding="utf-8", newline="") if plain else io.StringIO()
    try:
        rows = csv.writer(out, lineterminator="\n")
        for batch in _batches(site, table):
            if writer is None:
                writer = pq.ParquetWriter(parquet, batch.schema, compression="zstd")
                rows.writerow(batch.schema.names)
            writer.write_batch(batch)
            if plain:
                rows.writerows(zip(*([_cell(v) for v in c.to_pylist()] for c in batch.columns), strict=True))
        if writer is None:
            names = [c for c, _ in _columns(site.con, table)]
            writer = pq.ParquetWriter(parquet, pa.schema([(n, pa.string()) for n in names]), compression="zstd")
            rows.writerow(names)
    finally:
        out.close()
        if writer is not None:
            writer.close()


def _cell(v: Any) -> Any:
    """A value as CSV has it; a spreadsheet must not take text for a formula."""
    if isinstance(v, str):
        return "'" + v if v[:1] in ("=", "+", "@", "\t", "\r") or (v[:1] == "-" and len(v) > 1) else v
    return v.isoformat() if hasattr(v, "isoformat") else v
