"""Traces of flashinfer-bench, of both generations, and of SOL-ExecBench."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import diagnostics, identity
from kbstats.ingest.batch import json_text
from kbstats.ingest.formats.exec_result import kept, located
from kbstats.ingest.formats.flashinfer_bench_files import SUITE, Solution, beside
from kbstats.ingest.hashing import text_id
from kbstats.ingest.lenient import build, known_keys
from kbstats.ingest.metrics import CANDIDATE, MS_TO_US, number, positive
from kbstats.ingest.rows import Metric, Run, Timeout
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source

FLASHINFER = "flashinfer_bench"
COMPILED = {
    "COMPILE_ERROR": False,
    "PASSED": True,
    "INCORRECT_SHAPE": True,
    "INCORRECT_NUMERICAL": True,
    "INCORRECT_DTYPE": True,
}
CORRECT = {
    "PASSED": True,
    "INCORRECT_SHAPE": False,
    "INCORRECT_NUMERICAL": False,
    "INCORRECT_DTYPE": False,
    "COMPILE_ERROR": False,
    "RUNTIME_ERROR": False,
    "REWARD_HACK": False,
}
"""What a status says; TIMEOUT and INVALID_REFERENCE say nothing about the kernel."""
TEXTS = {"COMPILE_ERROR": "compilation_error", "RUNTIME_ERROR": "runtime_error"}
"""Where a failing trace's log goes, under the keys of the KernelBench family."""

_NAME = re.compile(
    r"(?P<model>.+)_(?P<language>triton|cuda|python|cpp|cutlass|cute|tilelang|torch)_(?P<id>[0-9A-Za-z]+)"
)


class Workload(msgspec.Struct):
    """What was computed."""

    uuid: str | None = None
    axes: Any = None
    inputs: Any = None


class Environment(msgspec.Struct):
    """Where; the first generation says `device`."""

    hardware: str | None = None
    device: str | None = None
    libs: Any = None


class Correctness(msgspec.Struct):
    """How far off; not-finite numbers are written as texts."""

    max_relative_error: Any = None
    max_absolute_error: Any = None
    has_nan: Any = None
    has_inf: Any = None
    extra: Any = None


class Performance(msgspec.Struct):
    """How fast, in milliseconds."""

    latency_ms: float | None = None
    reference_latency_ms: float | None = None
    speedup_factor: float | None = None
    profile: Any = None


class Evaluation(msgspec.Struct):
    """What came of it."""

    status: str | None = None
    environment: Environment | None = None
    timestamp: str | None = None
    log: str | None = None
    log_file: str | None = None
    correctness: Correctness | None = None
    performance: Performance | None = None


class Record(msgspec.Struct):
    """One trace."""

    definition: str | None = None
    solution: str | None = None
    workload: Workload | None = None
    evaluation: Evaluation | None = None


class Traces:
    """Traces of one file on their way into the batch."""

    def __init__(self, source: Source, batch: Batch) -> None:
        self.source, self.batch = source, batch
        self.references, self.solutions = beside(source, batch)
        self.seen: dict[str, list[str]] = {}

    def take(self, where: str, document: dict[str, Any]) -> None:
        """One trace; a workload alone, in whichever way its writer leaves the rest empty, is no attempt."""
        r: Record = build(Record, document, located(self.batch, where))
        e = r.evaluation
        if not r.solution and (e is None or not e.status):
            return
        if not r.definition or e is None or not e.status:
            missing = "definition" if not r.definition else "status"
            self.batch.issue(
                "bad_line", f"a trace without its {missing}; left out", severity="error", location=where.strip() or "/"
            )
            return
        environment = e.environment or Environment()
        hardware = environment.hardware or environment.device
        workload = r.workload or Workload()
        solution = self.solutions.get(r.solution or "", Solution(None, None, None))
        m = _NAME.fullmatch(r.solution or "")
        columns: dict[str, Any] = {
            # the same solution on another machine is another run
            "suite": SUITE,
            "sweep": f"{r.solution}@{hardware}" if hardware else r.solution,
            "variant": (workload.uuid or text_id(json_text(workload.axes)))[:8],
            "model_raw": solution.author or (m["model"] if m else r.solution),
            "level": None,
            "problem_id": None,
            "problem_name": r.definition,
            "harness": FLASHINFER,
        }
        sample = self._sample(columns, document, where)
        if sample is None:
            return
        columns["sample_id"] = sample
        run_id = identity.run_id(**columns)
        log = (e.log or "").strip()
        metadata = self._failure(run_id, e.status, log)
        self._metrics(run_id, e.correctness)
        unknown = {k: v for k, v in document.items() if k not in known_keys(Record)}
        p = e.performance or Performance()
        runtime, ref = positive(p.latency_ms, MS_TO_US), positive(p.reference_latency_ms, MS_TO_US)
        correct, measured = CORRECT.get(e.status), ref / runtime if ref and runtime else None
        speedup = self.batch.speedup(p.speedup_factor, run_id, correct=correct, measured=measured)
        self.batch.add(
            Run(
                run_id=run_id,
                source_id=self.source.source_id,
                format=FLASHINFER,
                **columns,
                model=identity.model_of(columns["model_raw"]),
                backend=solution.language or (m["language"] if m else None),
                hardware=hardware,
                finished_at=utc(e.timestamp, self.batch, f"{where}/evaluation/timestamp"),
                source_outcome=e.status,
                compiled=COMPILED.get(e.status),
                correct=correct,
                runtime_us=runtime,
                ref_runtime_us=ref,
                speedup=speedup,
                baseline="eager" if speedup is not None else None,
                submitted_kernel_sha256=solution.kernel_sha256,
                reference_sha256=self.references.get(r.definition),
                extra=kept(
                    {
                        **unknown,
                        "metadata": metadata,
                        "solution": r.solution,
                        "workload": kept({"uuid": workload.uuid, "axes": workload.axes, "inputs": workload.inputs}),
                        "libs": environment.libs,
                        "log_file": e.log_file,
                        "log": log if not metadata else None,
                        "correctness": self._judged(e.correctness),
                        "profile": p.profile,
                    }
                ),
            )
        )

    def _sample(self, columns: dict[str, Any], document: dict[str, Any], where: str) -> int | None:
        """Which evaluation of its kind a trace is; None for one that stands twice."""
        key, content = text_id(*columns.values()), text_id(json_text(document))
        before = self.seen.setdefault(key, [])
        place = where.strip() or "/"
        if content in before:
            self.batch.issue("duplicate_row", "the same trace again; counted once", location=place)
            return None
        if before:
            self.batch.issue("repeated_run", "evaluated again; read as a further sample", location=place)
        before.append(content)
        return len(before) - 1

    def _failure(self, run_id: str, status: str, log: str) -> dict[str, Any]:
        """The log of a failure, its diagnostics, and the limit that was hit."""
        if status == "PASSED":
            return {}
        if status == "TIMEOUT":
            self.batch.add(Timeout(run_id=run_id, scope="check", message=log[-300:] or "status TIMEOUT"))
        if status == "COMPILE_ERROR":
            for row in diagnostics.rows(run_id, log, building=True):
                self.batch.add(row)
        key = TEXTS.get(status, "correctness_issue" if status.startswith("INCORRECT") else "error")
        return {key: log} if log else {}

    def _metrics(self, run_id: str, c: Correctness | None) -> None:
        if c is None:
            return
        for name, raw, unit in (
            ("error.max_rel", c.max_relative_error, "ratio"),
            ("error.max_abs", c.max_absolute_error, "abs"),
        ):
            value = number(raw)
            if value is not None and value >= 0:
                self.batch.add(
                    Metric(run_id=run_id, subject=CANDIDATE, name=name, value=value, unit=unit, source="harness")
                )

    @staticmethod
    def _judged(c: Correctness | None) -> dict[str, Any]:
        """What no metric holds: errors that are no finite numbers, as they were written."""
        if c is None:
            return {}
        odd = {
            k: v
            for k, v in (("max_relative_error", c.max_relative_error), ("max_absolute_error", c.max_absolute_error))
            if number(v) is None
        }
        return kept({**odd, "has_nan": c.has_nan, "has_inf": c.has_inf, "extra": c.extra})
