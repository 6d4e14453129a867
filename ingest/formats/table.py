"""Tables of results (CSV, JSON lines, Parquet): which column is what stands in a mapping file."""

from __future__ import annotations

import csv
import functools
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import identity, jsonlines, metrics
from kbstats.ingest.batch import Batch, columns_of
from kbstats.ingest.decode import as_text
from kbstats.ingest.format import CONTENT, NO, Format, Source
from kbstats.ingest.hashing import text_id
from kbstats.ingest.lenient import to_bool, to_float, to_int
from kbstats.ingest.rows import Metric, Run
from kbstats.ingest.table_map import Column, TableMap, load_map
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from pathlib import Path

MAX_CELL = 1 << 28
"""Longest CSV cell, in characters: kernels stand in cells."""

Record = Mapping[str, Any]


@functools.cache
def builtin_maps() -> tuple[TableMap, ...]:
    """The mappings that come with kbstats, by name."""
    folder = files("kbstats.ingest").joinpath("maps")
    found = [f for f in folder.iterdir() if f.name.endswith(".toml")]
    return tuple(load_map(f.read_text(encoding="utf-8"), f.name) for f in sorted(found, key=lambda f: f.name))


class TableFormat(Format):
    """One run a row.

    Args:
        maps: The mappings to try, in order; the first whose columns are all there is used.
    """

    name = "table"
    suffixes = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq"})

    def __init__(self, maps: tuple[TableMap, ...] | None = None) -> None:
        self._maps = maps

    @classmethod
    def with_map(cls, path: Path) -> TableFormat:
        """The format with a user's own mapping file.

        Raises:
            UsageError: the file does not exist, or does not parse.
        """
        return cls((load_map(path.read_text(encoding="utf-8") if path.is_file() else None, str(path)),))

    @property
    def maps(self) -> tuple[TableMap, ...]:
        """The mappings to try."""
        return builtin_maps() if self._maps is None else self._maps

    def sniff(self, path: Path, head: bytes) -> int:
        """By the columns: a mapping applies when all its columns are there."""
        return CONTENT if self._map_for(_columns(path, head)) else NO

    def _map_for(self, columns: Iterable[str]) -> TableMap | None:
        have = set(columns)
        return next((m for m in self.maps if have and set(m.required) <= have), None)

    def read(self, source: Source, batch: Batch) -> None:
        """All rows of the table."""
        columns = _columns(source.path, source.read()[:65536])
        mapping = self._map_for(columns)
        if mapping is None:
            wanted = ", ".join(self.maps[0].required) if len(self.maps) == 1 else "those of a mapping"
            batch.reject(
                "unmapped_table", f"the table lacks columns of the mapping ({wanted})", location="line 1"
            )
            return
        reader = _Rows(source, batch, mapping)
        for where, record in _records(source, batch):
            reader.take(where, record)


FORMAT = TableFormat()


def _columns(path: Path, head: bytes) -> list[str]:
    """Names of the columns, from the head of the file (Parquet: from its footer)."""
    suffix = path.suffix.lower()
    if suffix in {".parquet", ".pq"}:
        if not head.startswith(b"PAR1"):
            return []
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return list(pq.read_schema(path).names)
        except (pa.ArrowException, OSError, UnicodeDecodeError):
            return []
    if suffix in {".jsonl", ".ndjson"}:
        try:
            first = msgspec.json.decode(head.lstrip(b"\xef\xbb\xbf").split(b"\n", 1)[0])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return []
        return list(first) if isinstance(first, dict) else []
    text = head.decode("utf-8-sig", "replace")
    first_line = (text.splitlines() or [""])[0]
    return (
        next(csv.reader([first_line.rstrip("\r")], delimiter=_delimiter(first_line)), [])
        if first_line
        else []
    )


def _delimiter(header: str) -> str:
    return max(",\t;", key=header.count)


def _records(source: Source, batch: Batch) -> Iterator[tuple[str, Record]]:
    suffix = source.path.suffix.lower()
    if suffix in {".parquet", ".pq"}:
        yield from _parquet(source.path, batch)
    elif suffix in {".jsonl", ".ndjson"}:
        for line, record in jsonlines.objects(source.read(), batch):
            yield f"line {line}", record
    else:
        yield from _csv(source.read(), batch)


def _parquet(path: Path, batch: Batch) -> Iterator[tuple[str, Record]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    n = 0
    try:
        with pq.ParquetFile(path) as table:
            for part in table.iter_batches(4096):
                for record in part.to_pylist():
                    n += 1
                    yield f"row {n}", record
    except (pa.ArrowException, UnicodeDecodeError) as e:
        batch.reject(
            "bad_parquet",
            f"not readable as Parquet: {(str(e).splitlines() or [''])[0][:200]}",
            location=f"row {n}",
        )


def _csv(data: bytes, batch: Batch) -> Iterator[tuple[str, Record]]:
    csv.field_size_limit(MAX_CELL)
    text = as_text(data, batch).rstrip("\x00")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text.split("\n", 1)[0]))
    header: list[str] | None = None
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as e:
            batch.issue("bad_line", f"not readable as CSV: {e}", severity="error", location=f"line {line}")
            continue
        if header is None:
            header = cells
            continue
        if not any(cells):
            continue
        if len(cells) < len(header) and reader.line_num >= text.count("\n") + 1 and not text.endswith("\n"):
            batch.partial("truncated", "the last row is cut short; left out", location=f"line {line}")
            return
        if len(cells) != len(header):
            batch.issue("bad_row", f"{len(cells)} cells under {len(header)} columns", location=f"line {line}")
        yield f"line {line}", dict(zip(header, cells, strict=False))


class _Rows:
    """Rows on their way into the batch; counts how often the same run came."""

    def __init__(self, source: Source, batch: Batch, mapping: TableMap) -> None:
        self.source, self.batch, self.map = source, batch, mapping
        self.kinds = {column: kind for _, column, kind in columns_of(Run.table)}
        self.times_seen: Counter[str] = Counter()
        self.contents: set[str] = set()

    def take(self, where: str, record: Record) -> None:
        """One row."""
        values: dict[str, Any] = dict(self.map.constants)
        for target, column in self.map.columns.items():
            value = self._value(target, column, record, where)
            if value is not None:
                values[target] = value
        if "mode" in values:
            values["mode"] = identity.mode_of(values["mode"]) or values["mode"]
        for key in ("runtime_us", "ref_runtime_us"):
            if (v := values.get(key)) is not None and v <= 0:
                del values[key]
        values.setdefault("suite", "unknown")
        self._emit(values, record, where)

    def _emit(self, values: dict[str, Any], record: Record, where: str) -> None:
        who = {c: values.get(c) for c in identity.IDENTITY}
        key = text_id(*who.values())
        content = text_id(key, sorted((str(k), repr(v)) for k, v in record.items()))
        n = self.times_seen[key]
        if n and content in self.contents:
            self.batch.issue(
                "duplicate_row", "the same row stands in the table twice; counted once", location=where
            )
            return
        self.times_seen[key] += 1
        self.contents.add(content)
        if who["sample_id"] is None:
            who["sample_id"] = n
            if n:
                self.batch.issue(
                    "repeated_run", "another row of the same run; read as a further sample", location=where
                )
        run_id = identity.run_id(**who)
        runtime, ref = values.get("runtime_us"), values.get("ref_runtime_us")
        measured = ref / runtime if runtime and ref else None
        said = values.get("speedup")
        values["speedup"] = self.batch.speedup(said, run_id, correct=values.get("correct"), measured=measured)
        sha = self.batch.kernel(record.get(self.map.kernel)) if self.map.kernel else None
        values.update(who)
        values["model"] = values.get("model") or identity.model_of(values.get("model_raw"))
        if values.get("speedup") is None:
            values.pop("baseline", None)
        self.batch.add(
            Run(
                run_id=run_id,
                source_id=self.source.source_id,
                format=FORMAT.name,
                submitted_kernel_sha256=sha,
                extra=self._rest(record),
                **values,
            )
        )
        for spec in self.map.metrics:
            value = metrics.number(record.get(spec.column))
            if value is None:
                continue
            zero = metrics.zero_of(spec.name, value)
            if zero is None and spec.drops(value):
                continue
            self.batch.add(
                Metric(
                    run_id=run_id,
                    subject=spec.subject,
                    name=zero or spec.name,
                    value=1.0 if zero else value * spec.scale,
                    unit="count" if zero else spec.unit,
                    source=spec.source,
                )
            )

    def _value(self, target: str, column: Column, record: Record, where: str) -> Any:
        raw = record.get(column.column)
        if raw is None or column.is_null(raw):
            return None
        if isinstance(raw, str):
            raw = raw.strip()
        if column.values and str(raw) in column.values:
            raw = column.values[str(raw)]
        kind = self.kinds[target]
        pointer = f"{where}, column {column.column}"

        def report(code: str, message: str, location: str) -> None:
            if code != "type_repaired":  # in a table everything is text
                self.batch.issue(code, message, location=location)

        if kind == "int":
            return to_int(raw, report, pointer)
        if kind == "float":
            number = to_float(raw, report, pointer)
            return None if number is None else number * column.scale
        if kind == "bool":
            return to_bool(raw, report, pointer)
        if kind == "time":
            return utc(raw, self.batch, pointer)
        return str(raw)

    def _rest(self, record: Record) -> dict[str, Any] | None:
        """Columns without a place of their own; empty cells are left out."""
        rest = {str(k): v for k, v in record.items() if k not in self.map.placed and v not in (None, "")}
        return rest or None
