"""KernelBenchLeaderboard: raw_data.json, one list of the best passing kernels by problem and model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode, identity
from kbstats.ingest.format import CONTENT, EXACT, NO, Format, Source
from kbstats.ingest.formats.exec_result import kept, located
from kbstats.ingest.lenient import build, known_keys
from kbstats.ingest.metrics import MS_TO_US, RATIO, REFERENCE, positive
from kbstats.ingest.rows import Metric, Run

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch

BOARD = "kernelbench_leaderboard"
RAW = "raw_data.json"
_START = re.compile(rb'\s*\[\s*\{\s*"problem_id":\s*\d+,\s*"code":\s*"')
_KEYS = (b'"torch_speedup"', b'"kernel_eval_time"', b'"baseline_torch_time"')


class Record(msgspec.Struct):
    """One row; times in milliseconds."""

    problem_id: int | None = None
    level: int | None = None
    model: str | None = None
    display_name: str | None = None
    code: str | None = None
    torch_speedup: float | None = None
    torch_compile_speedup: float | None = None
    baseline_torch_time: float | None = None
    baseline_torch_compile_time: float | None = None
    kernel_eval_time: float | None = None
    file: str | None = None


class KernelBenchLeaderboard(Format):
    """One run a row."""

    name = BOARD
    suffixes = frozenset({".json"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By how its rows begin (a kernel's code may fill the head), or by its keys."""
        if path.name == RAW and _START.match(head):
            return EXACT
        return CONTENT if head.lstrip().startswith(b"[") and all(k in head for k in _KEYS) else NO

    def read(self, source: Source, batch: Batch) -> None:
        """All rows."""
        try:
            document = decode.untyped(source.read(), batch)
        except decode.UnreadableError as e:
            if e.code == "not_json":
                batch.reject(e.code, e.message, location=e.location)
            else:
                batch.partial(e.code, e.message, location=e.location)
            return
        if not isinstance(document, list):
            batch.reject("not_results", "the document is no list")
            return
        for i, row in enumerate(document):
            if isinstance(row, dict):
                _take(source, batch, row, f"/{i}")
            else:
                batch.issue("type_dropped", "expected a row's object; left out", location=f"/{i}")


FORMAT = KernelBenchLeaderboard()


def _take(source: Source, batch: Batch, row: dict[str, Any], pointer: str) -> None:
    r: Record = build(Record, row, located(batch, pointer))
    if r.problem_id is None or r.level is None:
        batch.issue("bad_row", "without problem_id or level; left out", severity="error", location=pointer)
        return
    columns: dict[str, Any] = {
        "suite": identity.KERNELBENCH,
        "sweep": BOARD,
        "variant": identity.DEFAULT_VARIANT,
        "model_raw": r.model,
        "level": r.level,
        # The file counts problems from 0, the suite from 1: its 39 is the suite's 40_LayerNorm.
        "problem_id": r.problem_id + 1,
        "problem_name": None,
        "sample_id": 0,
        "harness": BOARD,
    }
    run_id = identity.run_id(**columns)
    if batch.has_run(run_id):
        batch.issue("duplicate_run", "the same problem and model again; the first is kept", location=pointer)
        return
    compiled = positive(r.torch_compile_speedup)
    if compiled is not None:
        batch.add(
            Metric(
                run_id=run_id, subject=RATIO, name="speedup.vs_compile", value=compiled, unit="ratio", source="table"
            )
        )
    if (ref := positive(r.baseline_torch_compile_time, MS_TO_US)) is not None:
        batch.add(
            Metric(run_id=run_id, subject=REFERENCE, name="runtime.compile", value=ref, unit="us", source="table")
        )
    runtime = positive(r.kernel_eval_time, MS_TO_US)
    passed = True if runtime is not None else None  # the board lists kernels that passed, with their time
    speedup = batch.speedup(r.torch_speedup, run_id, correct=passed)
    unknown = {k: v for k, v in row.items() if k not in known_keys(Record)}
    batch.add(
        Run(
            run_id=run_id,
            source_id=source.source_id,
            format=BOARD,
            **columns,
            model=identity.model_of(r.model),
            compiled=passed,
            correct=passed,
            runtime_us=runtime,
            ref_runtime_us=positive(r.baseline_torch_time, MS_TO_US),
            speedup=speedup,
            baseline="eager" if speedup is not None else None,
            submitted_kernel_sha256=batch.kernel(r.code),
            extra=kept({**unknown, "display_name": r.display_name, "file": r.file}) or None,
        )
    )
