"""What a format fills: records by table, issues, kernels stored once; and their way to Arrow."""

from __future__ import annotations

import functools
import math
import operator
import types
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import msgspec
from kbstats.ingest import hashing
from kbstats.ingest.metrics import number
from kbstats.ingest.rows import JSON, ROW_TYPES, Issue, Kernel, Metric, Row, Run

if TYPE_CHECKING:
    import pyarrow as pa

OK, PARTIAL, REJECTED = "ok", "partial", "rejected"
MAX_ISSUES = 50
"""Issues kept for one file; a file broken in ten thousand places is told of in fifty."""

_COUNTS = ("input_tokens", "output_tokens", "total_tokens")
_RESULTS = ("runtime_us", "ref_runtime_us", "speedup")
_PAIR = ("ref_us", "cand_us")
_ABOVE_0 = frozenset({*_RESULTS, *_PAIR})
AT_LEAST_0: dict[str, tuple[str, ...]] = {
    "runs": (*_RESULTS, *_COUNTS, "max_turns", "n_turns", "n_tool_calls", "wall_s", "cost_usd"),
    "turns": (*_COUNTS, "llm_s", "tools_s", "wall_s"),
    "tool_calls": ("duration_s",),
    "timeouts": ("budget_s", "elapsed_s"),
    "baselines": ("mean_us", "std_us", "min_us", "max_us"),
    "verification_timings": (*_PAIR, "clock_mhz"),
}
"""Columns that hold no negative number, and none that is not finite; a runtime or a speedup is above 0."""

_encode = msgspec.json.Encoder(decimal_format="string").encode


class Batch:
    """Everything one source file yields.

    Args:
        source_id: The source's id, put into the records that carry one.
        path: The file's path as text, for the issues.
    """

    def __init__(self, source_id: str, path: str) -> None:
        self.source_id = source_id
        self.path = path
        self.status = OK
        self.rows: dict[str, list[Row]] = {}
        self.kernels: dict[str, Kernel] = {}
        self._run_ids: set[str] = set()
        self.keys: set[str] = set()
        """Ids that may stand only once in a chunk, beside those of the runs."""
        self._dropped_issues = 0
        self._told: set[str] = set()

    def add(self, row: Row) -> None:
        """Take one record. The same run twice in one file: the first stays, the second is an issue."""
        if isinstance(row, Run):
            if row.run_id in self._run_ids:
                self.issue(
                    "duplicate_run", "the file holds the same run twice; the first is kept", run_id=row.run_id
                )
                return
            self._run_ids.add(row.run_id)
        self.rows.setdefault(row.table, []).append(row)

    def extend(self, rows: Sequence[Row]) -> None:
        """Take several records of one table that is not `runs`."""
        if rows:
            self.rows.setdefault(rows[0].table, []).extend(rows)

    def has_run(self, run_id: str) -> bool:
        """Whether this file has yielded the run already."""
        return run_id in self._run_ids

    def kernel(self, text: object) -> str | None:
        """Store a kernel's source once; its sha256, or None for no text, an empty or a cut one."""
        if not isinstance(text, str):
            return None
        sha = hashing.source_sha256(text)  # to look a text up by itself costs as much
        if sha in self.kernels:
            return sha
        if not text or text.isspace() or hashing.is_cut(text):
            return None
        self.kernels[sha] = Kernel(
            kernel_sha256=sha,
            source_code=text,
            language=hashing.language(text),
            n_lines=text.count("\n") + (not text.endswith("\n")),
            n_chars=len(text),
        )
        return sha

    def issue(
        self,
        code: str,
        message: str,
        *,
        severity: str = "warning",
        location: str | None = None,
        path: str | None = None,
        run_id: str | None = None,
    ) -> None:
        """Record what could not be read, or was read with a repair (codes: docs/ingest-issues.md)."""
        issues = self.rows.setdefault(Issue.table, [])
        if len(issues) >= MAX_ISSUES:
            self._dropped_issues += 1
            return
        issues.append(
            Issue(
                source_id=self.source_id,
                path=path or self.path,
                severity=severity,
                code=code,
                message=message,
                location=location,
                run_id=run_id,
            )
        )

    def speedup(self, said: object, run_id: str, *, correct: object, measured: float | None = None) -> float | None:
        """A run's speedup: what its source says, else what its runtimes measured, else unknown.

        A speedup of 0 or less is none. A failed run's 0 or -1 is how harnesses write that; a correct run's,
        and any other such number, is told of, since the source contradicts itself.
        """
        value = number(said)
        if value is None or value > 0:
            return measured if value is None else value
        if correct is True or value not in {0, -1}:
            instead = "read as unknown" if measured is None else "taken from its runtimes"
            who = "a run that is called correct" if correct is True else "a run"
            self.issue(
                "sentinel", f"a speedup of {value:g} for {who}; {instead}", location="runs.speedup", run_id=run_id
            )
        return measured

    def beside(self, path: object) -> Batch:
        """A view on this batch for a companion: its issues name the companion, and it is never partial."""
        view = _Companion(self.source_id, str(path))
        view.rows = self.rows
        return view

    def partial(self, code: str, message: str, *, location: str | None = None) -> None:
        """The file was cut short: an error, and what follows the cut is not known."""
        self.status = PARTIAL
        self.issue(code, message, severity="error", location=location)

    def reject(self, code: str, message: str, *, location: str | None = None) -> None:
        """The file cannot be read: nothing of it but the issues stays."""
        issues = self.rows.get(Issue.table, [])
        self.rows = {Issue.table: issues} if issues else {}
        self.kernels = {}
        self._run_ids = set()
        self.keys = set()
        self.status = REJECTED
        self.issue(code, message, severity="error", location=location)

    def finish(self) -> None:
        """Close the file: no impossible numbers, a word on issues left out, the kernels among the records."""
        for table, columns in AT_LEAST_0.items():
            rows = self.rows.get(table, ())
            values_of = operator.attrgetter(*columns)
            for row in rows:
                values = values_of(row) if len(columns) > 1 else (values_of(row),)
                for column, value in zip(columns, values, strict=True):
                    if value is not None and isinstance(value, (int, float)) and not 0 < value < math.inf:
                        self._impossible(row, column, value)
        self._measured()
        if self._dropped_issues:
            self.rows[Issue.table].append(
                Issue(
                    source_id=self.source_id,
                    path=self.path,
                    severity="warning",
                    code="more_issues",
                    message=f"{self._dropped_issues} further issues of this file are not listed",
                )
            )
        if self.kernels:
            self.rows[Kernel.table] = list(self.kernels.values())

    def _impossible(self, row: Row, column: str, value: float) -> None:
        """A number that nothing can have becomes unknown; one that no harness writes for unknown is told of."""
        if value == 0 and column not in _ABOVE_0:
            return
        setattr(row, column, None)
        if value not in {0, -1}:
            self._tell(row, f"{row.table}.{column}", f"{column} cannot be {value}; it is read as unknown")

    def _measured(self) -> None:
        """Metrics hold what was measured: a number that nothing can have is no row."""
        found = self.rows.get(Metric.table, ())
        wrong = [m for m in found if not 0 <= m.value < math.inf]  # type: ignore[attr-defined]
        for m in wrong:
            if m.value != -1:  # type: ignore[attr-defined]
                self._tell(m, f"metrics.{m.name}", f"{m.name} cannot be {m.value}; it is left out")  # type: ignore[attr-defined]
        if wrong:
            self.rows[Metric.table] = [m for m in found if 0 <= m.value < math.inf]  # type: ignore[attr-defined]

    def _tell(self, row: Row, place: str, message: str) -> None:
        """One issue for each place, whatever the number of rows."""
        if place in self._told:
            return
        self._told.add(place)
        self.issue("sentinel", message, location=place, run_id=getattr(row, "run_id", None))

    @property
    def run_ids(self) -> set[str]:
        """Ids of the runs it holds."""
        return self._run_ids


class _Companion(Batch):
    """A batch's issues under the path of a companion."""

    def partial(self, code: str, message: str, *, location: str | None = None) -> None:
        self.issue(code, message, location=location)


def _kind(annotation: Any) -> str:
    """The declared type of a record's field as one word."""
    if annotation == JSON:
        return "json"
    if get_origin(annotation) in {types.UnionType, Any} or isinstance(annotation, types.UnionType):
        inner = [a for a in get_args(annotation) if a is not type(None)]
        return _kind(inner[0]) if len(inner) == 1 else "json"
    if get_origin(annotation) is list:
        return "strings"
    names: dict[Any, str] = {str: "str", int: "int", float: "float", bool: "bool", datetime: "time"}
    return names.get(annotation, "json")


@functools.cache
def columns_of(table: str) -> tuple[tuple[str, str, str], ...]:
    """The columns of a table as (attribute, column, kind), kinds: str int float bool time json strings."""
    row = ROW_TYPES[table]
    hints = get_type_hints(row)
    return tuple((f.name, f.encode_name, _kind(hints[f.name])) for f in msgspec.structs.fields(row))


@functools.cache
def _arrow_types() -> dict[str, pa.DataType]:
    import pyarrow as pa

    return {
        "str": pa.string(),
        "json": pa.string(),
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "time": pa.timestamp("us", tz="UTC"),
        "strings": pa.list_(pa.string()),
    }


def json_text(value: Any) -> str | None:
    """A JSON column's text. Non-finite numbers become null, half surrogates U+FFFD."""
    if value is None:
        return None
    try:
        return _encode(value).decode("utf-8")
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError):
        return _encode(_plain(value)).decode("utf-8")


def _plain(value: Any, depth: int = 0) -> Any:
    if depth > 100:
        return None
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {clean(str(k)): _plain(v, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v, depth + 1) for v in value]
    return (
        value if isinstance(value, (int, bool, type(None))) and abs(value or 0) < 2**63 else clean(str(value))
    )


def clean(text: str) -> str:
    """A text that UTF-8 can hold: half surrogates become U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    return text


def _column(values: Sequence[Any], kind: str) -> pa.Array:
    import pyarrow as pa

    arrow = _arrow_types()[kind]
    if kind == "json":
        values = [None if v is None else "{}" if v == {} else json_text(v) for v in values]
    try:
        return pa.array(values, arrow)
    except UnicodeEncodeError:
        return pa.array([clean(v) if isinstance(v, str) else v for v in values], arrow)
    except OverflowError:  # a format that did not ask for integers of 64 bits
        return pa.array([v if v is not None and abs(v) < 2**63 else None for v in values], arrow)


def to_arrow(batches: Iterable[Batch]) -> dict[str, pa.Table]:
    """The records of several files as one Arrow table a database table.

    Raises:
        Exception: a record holds a value of another type than its column; the caller finds the file.
    """
    import pyarrow as pa

    batches = list(batches)
    tables: dict[str, pa.Table] = {}
    for table in ROW_TYPES:
        rows = [r for b in batches for r in b.rows.get(table, ())]
        if table == Kernel.table:
            rows = list({r.kernel_sha256: r for r in rows}.values())  # type: ignore[attr-defined]
        if rows:
            columns = zip(*map(msgspec.structs.astuple, rows), strict=True)
            tables[table] = pa.table(
                {
                    column: _column(values, kind)
                    for values, (_, column, kind) in zip(columns, columns_of(table), strict=True)
                }
            )
    return tables
