"""What `kbstats export` wrote, read back into the same tables.

* `kbstats-export.json`  names the table files beside it (Parquet, CSV or JSON lines) and their columns
* `trajectory.json`      an ATIF trajectory of kbstats' own making, whose `extra.kbstats` holds the records

Only where a record came from is new: its source is the export.
"""

from __future__ import annotations

import csv
import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode
from kbstats.ingest.batch import columns_of
from kbstats.ingest.format import EXACT, NO, Format, Source
from kbstats.ingest.rows import ROW_TYPES, Issue, Kernel, Row, Verification
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from kbstats.ingest.batch import Batch

NAME = "kbstats_export"
SCHEMA = "kbstats.export/1"
MANIFEST = "kbstats-export.json"
ENCODINGS = ("parquet", "csv", "jsonl")
NULL = "\\N"
"""NULL in CSV; a text that starts with a backslash gets one more in front."""
_MARK = f'"{SCHEMA}"'.encode()


class KbstatsExport(Format):
    """Whole records by table."""

    name = NAME
    suffixes = frozenset({".json"})
    owns_companions = True

    def sniff(self, path: Path, head: bytes) -> int:
        """By the schema's name."""
        return EXACT if _MARK in head and (path.name == MANIFEST or b'"ATIF-' in head) else NO

    def companions(self, path: Path) -> Iterable[Path]:
        """The table files."""
        if path.name == MANIFEST:
            files = (path.with_name(f"{table}.{e}") for table in ROW_TYPES for e in ENCODINGS)
            yield from (p for p in files if p.is_file())

    def read(self, source: Source, batch: Batch) -> None:
        """All records; one that does not fit its table is left out with an issue."""
        try:
            document = decode.untyped(source.read(), batch)
        except decode.UnreadableError as e:
            (batch.reject if e.code == "not_json" else batch.partial)(e.code, e.message, location=e.location)
            return
        if not isinstance(document, dict):
            batch.reject("not_results", "the document is no JSON object")
        elif document.get("schema") == SCHEMA:
            _tables(source, batch, document.get("tables"))
        else:
            extra = document.get("extra")
            own = extra.get("kbstats") if isinstance(extra, dict) else None
            tables = own.get("tables") if isinstance(own, dict) else None
            for table, rows in tables.items() if isinstance(tables, dict) else ():
                _take(batch, table, enumerate(rows if isinstance(rows, list) else ()), "")


FORMAT = KbstatsExport()


def _tables(source: Source, batch: Batch, tables: Any) -> None:
    for table, entry in tables.items() if isinstance(tables, dict) else ():
        name = entry.get("file") if isinstance(entry, dict) else None
        path = source.companion(name) if isinstance(name, str) else None
        if path is None:
            where = f"/tables/{table}"
            batch.issue("missing_part", f"the table {table[:60]!r} is not there", severity="error", location=where)
            continue
        found = _READERS[path.suffix](source.read(path), batch)
        n = _take(batch, table, found, str(path))
        if isinstance(entry.get("rows"), int) and n != entry["rows"]:
            batch.partial("truncated", f"{path.name} holds {n} of {entry['rows']} rows", location=str(path))


def _take(batch: Batch, table: str, rows: Iterable[tuple[int, Any]], path: str) -> int:
    """Put rows into the batch; how many there were."""
    n = 0
    kind = ROW_TYPES.get(table)
    if kind is None:
        batch.issue("unknown_key", f"{table[:60]!r} is no table", location=f"/tables/{table[:60]}")
        return 0
    for number, row in rows:
        n += 1
        try:
            record = _record(kind, row, batch)
        except (TypeError, ValueError, KeyError, msgspec.MsgspecError) as e:
            batch.issue("bad_row", f"row {number} of {table}: {str(e)[:120]}", severity="error", path=path or None)
            continue
        if isinstance(record, Kernel):
            batch.kernel(record.source_code)
        elif isinstance(record, Verification) and record.verification_id in batch.keys:
            batch.issue("duplicate_verification", "the same verification twice", location=record.verification_id)
        else:
            if isinstance(record, Verification):
                batch.keys.add(record.verification_id)
            batch.add(record)
    return n


def _record(kind: type[Row], row: Any, batch: Batch) -> Row:
    """One record.

    Raises:
        TypeError, ValueError: a column is missing or holds another type.
    """
    if not isinstance(row, dict):
        raise TypeError("no object")
    values: dict[str, Any] = {}
    for attribute, column, what in columns_of(kind.table):
        value = row.get(column)
        if value is not None:
            values[attribute] = _value(value, what, batch)
    if "source_id" in kind.__struct_fields__:
        values["source_id"] = batch.source_id
    if kind is Issue and values.get("severity") not in {"error", "warning"}:
        raise TypeError("no severity of an issue")
    return kind(**values)


def _value(value: Any, kind: str, batch: Batch) -> Any:
    if kind == "json":
        return msgspec.json.decode(value) if isinstance(value, str) else value
    if kind == "time":
        return value if isinstance(value, datetime) else utc(value, batch, "/")
    if isinstance(value, str) and kind in {"int", "float", "bool", "strings"}:
        return _PARSE[kind](value)
    if kind == "float" and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    wanted = {"str": str, "int": int, "float": float, "bool": bool, "strings": list}[kind]
    if not isinstance(value, wanted) or (kind == "int" and isinstance(value, bool)):
        raise TypeError(f"{value!r:.60} is no {kind}")
    return value


def _flag(text: str) -> bool:
    return {"true": True, "false": False}[text.lower()]


_PARSE: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": _flag,
    "strings": msgspec.json.decode,
}


def _parquet(data: bytes, batch: Batch) -> Iterator[tuple[int, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(data))
        number = 0
        for part in file.iter_batches(1000):
            for row in part.to_pylist():
                number += 1
                yield number, row
    except (pa.ArrowException, OSError, UnicodeDecodeError) as e:
        batch.issue("bad_parquet", f"not readable: {str(e).splitlines()[0][:200]}", severity="error")


def _csv(data: bytes, batch: Batch) -> Iterator[tuple[int, Any]]:
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    lines = csv.reader(_lines(data.decode("utf-8", "replace")))
    try:
        header = next(lines, [])
        for number, cells in enumerate(lines, 1):
            yield number, {k: _cell(c) for k, c in zip(header, cells, strict=True) if c != NULL}
    except (csv.Error, ValueError) as e:
        batch.issue("bad_row", f"not readable as CSV: {str(e)[:120]}", severity="error")


def _lines(text: str) -> Iterator[str]:
    """Lines with their ends; only a line feed ends one."""
    start = 0
    while (end := text.find("\n", start)) >= 0:
        yield text[start : end + 1]
        start = end + 1
    if start < len(text):
        yield text[start:]


def _cell(text: str) -> str:
    return text.removeprefix("\\")


def _jsonl(data: bytes, batch: Batch) -> Iterator[tuple[int, Any]]:
    from kbstats.ingest.jsonlines import objects

    yield from objects(data, batch)


_READERS: dict[str, Callable[[bytes, Batch], Iterator[tuple[int, Any]]]] = {
    ".parquet": _parquet,
    ".csv": _csv,
    ".jsonl": _jsonl,
}
