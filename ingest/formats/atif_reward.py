"""The reward.json beside a trajectory, in both its shapes: what the verifier found.

{reward, correct, speedup_vs_compile, speedup_vs_eager, max_err, static_ok, compile_ok, suspicious, error}
{reward, correct, speedup_vs_compile, metric: "cosine", cosine_min, error}

Speedups are null where the kernel is wrong. `reward` is 1 only for a correct kernel that beats
`torch.compile`: it is no verdict on correctness.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import diagnostics, metrics, timeouts
from kbstats.ingest.lenient import Report, build
from kbstats.ingest.rows import Metric

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbstats.ingest.batch import Batch

_BUILD_ERROR = re.compile(
    r"^\s*(?:[A-Za-z_][\w.]*\.)?(?:SyntaxError|IndentationError|TabError|ImportError|ModuleNotFoundError"
    r"|CompilationError|UnsupportedLanguageConstruct|CompileTimeAssertionFailure|MLIRCompilationError)\b"
    r"|Error building extension|ninja: build stopped"
)
_STATIC = "static check failed"


class RewardRecord(msgspec.Struct, gc=False):
    """Both shapes."""

    reward: float | None = None
    correct: bool | None = None
    speedup_vs_compile: float | None = None
    speedup_vs_eager: float | None = None
    max_err: float | None = None
    static_ok: bool | None = None
    compile_ok: bool | None = None
    suspicious: bool | None = None
    metric: str | None = None
    cosine_min: float | None = None
    error: str | None = None


class Reward:
    """A verdict.

    Args:
        document: The file's object.
        report: Takes what had to be repaired.
    """

    def __init__(self, document: dict[str, Any], report: Report) -> None:
        self.record: RewardRecord = build(RewardRecord, document, report)
        self.document = document
        error = self.record.error
        self.error = error if error and error.strip() else None
        self._static = self.error is not None and self.error.startswith(_STATIC)
        self._build = self.error is not None and bool(_BUILD_ERROR.search(self.error))

    @property
    def correct(self) -> bool | None:
        """As the file says."""
        return self.record.correct

    @property
    def compiled(self) -> bool | None:
        """As the file says; where it is silent, an error of the build says it too."""
        if self.record.compile_ok is not None:
            return self.record.compile_ok
        return False if self._build else None

    @property
    def outcome(self) -> str | None:
        """The file's fields as one word: correct, static_failed, compile_fail, runtime_error, incorrect."""
        if self.correct:
            return "correct"
        if self._static or (self.record.static_ok is False and self.correct is False):
            return "static_failed"
        if self.compiled is False:
            return "compile_fail"
        if self.correct is False:
            return "runtime_error" if self.error else "incorrect"
        return None

    def speedup(self, run_id: str, batch: Batch) -> tuple[float | None, str | None]:
        """(speedup, baseline): against eager, else against `torch.compile`."""
        for value, baseline in ((self.record.speedup_vs_eager, "eager"), (self.record.speedup_vs_compile, "compile")):
            if (speedup := batch.speedup(value, run_id, correct=self.correct)) is not None:
                return speedup, baseline
        return None, None

    def metrics(self, run_id: str) -> Iterator[Metric]:
        """The measured numbers."""
        r = self.record
        found = (
            ("ratio", "speedup.vs_compile", metrics.positive(r.speedup_vs_compile), "ratio"),
            ("candidate", "error.max_abs", r.max_err if r.max_err is not None and r.max_err >= 0 else None, "abs"),
            ("candidate", "cosine.min", r.cosine_min, "ratio"),
        )
        for subject, name, value, unit in found:
            if value is not None:
                yield Metric(run_id=run_id, subject=subject, name=name, value=value, unit=unit, source="harness")

    def evidence(self, run_id: str, batch: Batch) -> None:
        """Diagnostics and time limits that the error text tells of."""
        if self.error is None:
            return
        for timeout in timeouts.rows(run_id, self.error, {}):
            batch.add(timeout)
        for row in diagnostics.rows(run_id, self.error, building=self._build):
            batch.add(row)

    def extra(self) -> dict[str, Any]:
        """The whole file under `reward`; the error where the other harnesses keep theirs, too."""
        out: dict[str, Any] = {"reward": self.document}
        if self.error is not None:
            key = "compilation_error" if self._build else "runtime_error"
            out |= {"error": self.error} if self._static else {"metadata": {key: self.error}}
        return out
