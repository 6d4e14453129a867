"""robust-kbench: highlighted/results.csv, one kernel a row; cells hold code, profiles and conversations."""

from __future__ import annotations

import ast
import csv
import io
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kbstats.ingest import diagnostics, identity, metrics, timeouts
from kbstats.ingest.decode import as_text
from kbstats.ingest.format import CONTENT, NO, Format, Source
from kbstats.ingest.formats.exec_result import kept, mapping
from kbstats.ingest.lenient import to_bool, to_float, to_int
from kbstats.ingest.rows import Metric, Run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kbstats.ingest.batch import Batch

ROBUST = "robust_kbench"
SUITE = "robust-kbench"
REQUIRED = ("Batch ID", "Sample ID", "Kernel Name", "Correct", "Runtime (ms)", "Speedup", "task_name", "forward")
MAX_CELL = 1 << 28
MAX_LITERAL = 1 << 20
"""Characters of a cell that is read as a Python literal: beyond that it is kept as text."""
SAMPLES_A_BATCH = 1000

_EXPERIMENT = re.compile(r"(?:^|/)experiments/(?P<name>[^/]+)/")
_PLACED = frozenset(
    {
        *REQUIRED,
        "Speedup Compile",
        "Max Diff",
        "Error",
        "Error Type",
        "Code",
        "CUDA API Costs",
        "Torch Profile",
        "NCU Profile",
        "Clang Tidy",
        "Verifier Responses",
    }
)
_LITERALS = ("Settings", "NCU Profile", "Clang Tidy", "Verifier Individual", "Verifier Responses", "Verifier API Costs")
_BUILDING = ("compil", "build", "import")


class ProfilerCounter(NamedTuple):
    """A counter of the profiler's summary, and its row in `metrics`."""

    key: str
    name: str
    unit: str
    scale: float = 1.0


NCU = (
    ProfilerCounter("Achieved Occupancy", "occupancy", "pct"),
    ProfilerCounter("L1/TEX Hit Rate", "l1.hit_rate", "pct"),
    ProfilerCounter("L2 Hit Rate", "l2.hit_rate", "pct"),
    ProfilerCounter("Memory Throughput", "dram.bandwidth", "gb_per_s", 1e-9),
)
"""Counters that other harnesses measure as well, bandwidth in bytes a second; the whole profile is in `extra`."""


class RobustKBench(Format):
    """One run a row."""

    name = ROBUST
    suffixes = frozenset({".csv"})

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  results.csv is anybody's name
        """By its columns."""
        return CONTENT if set(REQUIRED) <= set(_header(head.decode("utf-8-sig", "replace"))) else NO

    def read(self, source: Source, batch: Batch) -> None:
        """All rows."""
        text = as_text(source.read(), batch).rstrip("\x00")
        if not set(REQUIRED) <= set(_header(text)):
            batch.reject("not_results", "the table lacks columns of robust-kbench", location="line 1")
            return
        for where, row in _rows(text, batch):
            _Row(source, batch, where, row).take()


FORMAT = RobustKBench()


def _header(text: str) -> list[str]:
    try:
        return next(csv.reader([text.split("\n", 1)[0].rstrip("\r")]), [])
    except csv.Error:
        return []


def _rows(text: str, batch: Batch) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows as dicts; a row that is no CSV, or has too few cells, is an issue."""
    csv.field_size_limit(MAX_CELL)
    reader = csv.reader(io.StringIO(text, newline=""))
    header: list[str] | None = None
    while True:
        where = f"line {reader.line_num + 1}"
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as e:
            batch.issue("bad_line", f"not readable as CSV: {e}", severity="error", location=where)
            continue
        if header is None:
            header = cells
        elif any(cells):
            if len(cells) < len(header) and reader.line_num > text.count("\n"):
                batch.partial("truncated", "the last row is cut short; left out", location=where)
                return
            if len(cells) != len(header):
                batch.issue("bad_row", f"{len(cells)} cells under {len(header)} columns", location=where)
            yield where, dict(zip(header, cells, strict=False))


def _literal(text: str | None) -> Any:
    """A cell written as a Python literal; the text itself where it is none."""
    if not text or len(text) > MAX_LITERAL:
        return text or None
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


class _Row:
    """One row on its way into the batch."""

    def __init__(self, source: Source, batch: Batch, where: str, row: dict[str, str]) -> None:
        self.source, self.batch, self.where, self.row = source, batch, where, row

    def _get(self, column: str, convert: Any) -> Any:
        raw = (self.row.get(column) or "").strip()

        def report(code: str, message: str, location: str) -> None:
            if code != "type_repaired":  # in a table everything is text
                self.batch.issue(code, message, location=location)

        return convert(raw, report, f"{self.where}, column {column}") if raw else None

    def _text(self, column: str) -> str | None:
        return self.row.get(column) or None

    def take(self) -> None:
        """The row as a run."""
        if not self._text("task_name") or not self._text("Kernel Name"):
            self.batch.issue("bad_row", "without task or kernel; left out", severity="error", location=self.where)
            return
        columns = self._columns()
        run_id = identity.run_id(**columns)
        if self.batch.has_run(run_id):
            self.batch.issue("duplicate_run", "the same kernel again; the first is kept", location=self.where)
            return
        correct = self._get("Correct", to_bool)
        metadata, compiled = self._failure(run_id, correct=correct)
        speedup = self.batch.speedup(self._get("Speedup", to_float), run_id, correct=correct)
        literals = {k: _literal(self.row.get(k)) for k in _LITERALS}
        self._metrics(run_id, literals["NCU Profile"])
        rest = {k: v for k, v in self.row.items() if k not in _PLACED and k not in _LITERALS}
        self.batch.add(
            Run(
                run_id=run_id,
                source_id=self.source.source_id,
                format=ROBUST,
                **columns,
                model=identity.model_of(columns["model_raw"]),
                backend="cuda",
                compiled=compiled,
                correct=correct,
                runtime_us=metrics.positive(self._get("Runtime (ms)", to_float), metrics.MS_TO_US),
                speedup=speedup,
                baseline="eager" if speedup is not None else None,
                cost_usd=metrics.positive(self._get("CUDA API Costs", to_float)),
                submitted_kernel_sha256=self.batch.kernel(self._text("Code")),
                extra=kept(
                    {
                        **rest,
                        **literals,
                        "metadata": metadata,
                        "Kernel Name": self._text("Kernel Name"),
                        "Torch Profile": self._text("Torch Profile"),
                        "Batch ID": self._text("Batch ID"),
                        "Sample ID": self._text("Sample ID"),
                    }
                ),
            )
        )

    def _columns(self) -> dict[str, Any]:
        m = _EXPERIMENT.search(self.row.get("CUDA Filename") or "")
        forward = self._get("forward", to_bool)
        batch_id, sample_id = self._get("Batch ID", to_int), self._get("Sample ID", to_int)
        sample = None
        if batch_id is not None and sample_id is not None and 0 <= batch_id < 2**40:
            sample = batch_id * SAMPLES_A_BATCH + sample_id
        return {
            "suite": SUITE,
            "sweep": m["name"] if m else self.source.path.parent.name or None,
            "variant": None if forward is None else "forward" if forward else "backward",
            # the table does not name the models that a search drew from; the search itself is what is rated
            "model_raw": SUITE,
            "level": None,
            "problem_id": None,
            "problem_name": self._text("task_name"),
            "sample_id": sample,
            "harness": ROBUST,
        }

    def _failure(self, run_id: str, *, correct: bool | None) -> tuple[dict[str, Any], bool | None]:
        """The error under the keys of the KernelBench family, and whether it was built."""
        text, kind = self._text("Error"), (self._text("Error Type") or "none").lower()
        if not text or correct:
            return {}, True if correct else None
        building = any(b in kind for b in _BUILDING)
        key = "compilation_error" if building else "runtime_error" if "runtime" in kind else "error"
        metadata = {key: text} if kind == "none" else {key: text, f"{key}_name": self._text("Error Type")}
        for row in timeouts.rows(run_id, text, metadata):
            self.batch.add(row)
        if building:
            for diagnostic in diagnostics.rows(run_id, text, building=True):
                self.batch.add(diagnostic)
        return metadata, False if building else None

    def _metrics(self, run_id: str, profile: Any) -> None:
        def add(name: str, value: float, unit: str, subject: str, source: str) -> None:
            self.batch.add(Metric(run_id=run_id, subject=subject, name=name, value=value, unit=unit, source=source))

        if (value := metrics.positive(self._get("Speedup Compile", to_float))) is not None:
            add("speedup.vs_compile", value, "ratio", metrics.RATIO, "table")
        if (value := self._get("Max Diff", to_float)) is not None and value >= 0:
            add("error.max_abs", value, "abs", metrics.CANDIDATE, "table")
        counters = mapping(mapping(profile).get("metrics"))
        for counter in NCU:
            value = metrics.number(mapping(counters.get(counter.key)).get("avg_value"))
            if value is not None and value >= 0:
                add(counter.name, value * counter.scale, counter.unit, metrics.CANDIDATE, "nsight")
