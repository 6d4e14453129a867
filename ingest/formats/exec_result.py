"""The result object of the KernelBench family, wherever a fork keeps it: flags, runtimes and evidence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from kbstats.ingest import diagnostics, metrics, timeouts
from kbstats.ingest.lenient import Report, point, to_bool, to_float

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kbstats.ingest.batch import Batch

TEXT_KEYS = ("error", "compilation_error", "runtime_error", "cuda_error", "other_error")
"""Keys of `metadata` that hold an error's text, in the order in which a time-out is looked for."""
_TOLD = (
    "correctness_trials",
    "correctness_issue",
    "max_difference",
    "compilation_error",
    "runtime_error",
    "cuda_error",
    "other_error",
    "error",
)


class ExecResult(NamedTuple):
    """One evaluation. Runtimes in microseconds; None where the source has none or a sentinel."""

    compiled: bool | None
    correct: bool | None
    runtime_us: float | None
    ref_runtime_us: float | None
    hardware: str | None
    metadata: dict[str, Any]

    @property
    def speedup(self) -> float | None:
        """Reference over candidate, from the unrounded runtimes; None unless both were measured."""
        return self.ref_runtime_us / self.runtime_us if self.runtime_us and self.ref_runtime_us else None


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def located(batch: Batch, where: str) -> Report:
    """A function that takes repairs into the batch's issues, with the place in front of the pointer."""

    def report(code: str, message: str, location: str) -> None:
        batch.issue(code, message, location=f"{where}{location}" or "/")

    return report


def read_result(
    result: Mapping[str, Any], report: Report, *, runtime: str = "runtime", ref: str = "ref_runtime"
) -> ExecResult:
    """The columns that a result object fills.

    Args:
        result: The object; its runtimes are milliseconds, -1 for "not measured".
        report: Takes what had to be repaired.
        runtime: Name of the candidate's runtime.
        ref: Name of the reference's runtime.
    """

    def get(key: str, convert: Any) -> Any:
        value = result.get(key)
        return None if value is None else convert(value, report, point("", key))

    metadata = mapping(result.get("metadata"))
    hardware = metadata.get("hardware") or mapping(result.get("runtime_stats")).get("hardware")
    return ExecResult(
        compiled=get("compiled", to_bool),
        correct=get("correctness", to_bool),
        runtime_us=metrics.positive(get(runtime, to_float), metrics.MS_TO_US),
        ref_runtime_us=metrics.positive(get(ref, to_float), metrics.MS_TO_US),
        hardware=hardware if isinstance(hardware, str) else None,
        metadata=dict(metadata),
    )


def add_evidence(
    batch: Batch,
    run_id: str,
    result: Mapping[str, Any],
    metadata: Mapping[str, Any],
    *,
    compiled: bool | None,
    turn: int | None = None,
    seq: int | None = None,
    told: bool = False,
) -> bool:
    """Measured numbers, the time-out and the diagnostics of one result; whether a time limit was hit.

    With `told` only the numbers: the texts are those of a turn, and have been read there.
    """
    for row in metrics.once(metrics.rows(run_id, result, turn=turn, seq=seq)):
        batch.add(row)
    if told:
        return False
    timed_out = False
    for key in TEXT_KEYS:
        text = metadata.get(key)
        if isinstance(text, str) and (found := list(timeouts.rows(run_id, text, metadata, turn=turn, seq=seq))):
            batch.add(found[0])
            timed_out = True
            break
    text = metadata.get("compilation_error")
    if isinstance(text, str) and compiled is not True:
        name = metadata.get("compilation_error_name")
        for found_error in diagnostics.rows(run_id, text, building=True, turn=turn, seq=seq):
            if found_error.code is None and found_error.toolchain == "python" and isinstance(name, str):
                found_error.code = name.rsplit(".", 1)[-1]
            batch.add(found_error)
    return timed_out


def failure_text(metadata: Mapping[str, Any]) -> str:
    """What a result's metadata tells of a failure, one `key: value` a line."""
    lines = []
    for key in _TOLD:
        value = metadata.get(key)
        if value in (None, "", [], {}):
            continue
        name = metadata.get(f"{key}_name")
        said = value if isinstance(value, str) else json.dumps(value, default=str)
        lines.append(f"{key}: {name}: {said}" if isinstance(name, str) and name else f"{key}: {said}")
    return "\n".join(lines)


def kept(values: Mapping[str, Any]) -> dict[str, Any]:
    """What goes into `extra`: everything that says something."""
    return {k: v for k, v in values.items() if v is not None and v not in ("", [], {})}
