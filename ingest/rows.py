"""The typed records that formats hand over: one struct a table of `sql/schema`.

Columns, units and meaning are documented where the tables are, in `sql/schema/<table>.sql`;
tests/test_contract.py holds names and types of both against each other. NULL (None) means
unknown: a sentinel such as -1 or 0.0 for "not measured" never reaches a record.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

import msgspec

JSON = dict[str, Any] | list[Any] | None
"""A column that is stored as JSON text."""


class Row(msgspec.Struct, kw_only=True, gc=False):
    """A record; `table` names where it goes."""

    table: ClassVar[str]


class Problem(Row, kw_only=True):
    table: ClassVar[str] = "problems"
    source_id: str
    suite: str
    level: int | None = None
    variant: str | None = None
    problem_id: int | None = None
    problem_name: str | None = None
    source_code: str | None = None
    source_sha256: str | None = None
    backend: str | None = None
    draws_shapes: bool | None = None


class Run(Row, kw_only=True):
    table: ClassVar[str] = "runs"
    run_id: str
    source_id: str
    format: str
    suite: str
    sweep: str | None = None
    variant: str | None = None
    mode: str | None = None
    model_raw: str | None = None
    model: str | None = None
    harness: str | None = None
    level: int | None = None
    problem_id: int | None = None
    problem_name: str | None = None
    sample_id: int | None = None
    backend: str | None = None
    precision: str | None = None
    hardware: str | None = None
    max_turns: int | None = None
    n_turns: int | None = None
    n_tool_calls: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    wall_s: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None
    truncated: bool | None = None
    source_outcome: str | None = None
    compiled: bool | None = None
    correct: bool | None = None
    runtime_us: float | None = None
    ref_runtime_us: float | None = None
    speedup: float | None = None
    baseline: str | None = None
    submitted_kernel_sha256: str | None = None
    reference_sha256: str | None = None
    extra: JSON = None


class Turn(Row, kw_only=True):
    table: ClassVar[str] = "turns"
    run_id: str
    turn: int
    llm_s: float | None = None
    tools_s: float | None = None
    wall_s: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    is_final: bool | None = None
    provider_truncated: bool | None = None
    feedback: str | None = None


class Message(Row, kw_only=True):
    table: ClassVar[str] = "messages"
    run_id: str
    turn: int
    seq: int
    kind: str
    text: str


class ToolCall(Row, kw_only=True):
    table: ClassVar[str] = "tool_calls"
    run_id: str
    turn: int
    seq: int
    tool: str
    ok: bool | None = None
    outcome: str | None = None
    kernel_sha256: str | None = None
    args: JSON = None
    result_text: str | None = None
    metadata: JSON = None
    duration_s: float | None = None


class Kernel(Row, kw_only=True):
    table: ClassVar[str] = "kernels"
    kernel_sha256: str
    source_code: str
    language: str | None = None
    n_lines: int
    n_chars: int


class CompileError(Row, kw_only=True):
    """One diagnostic. `class` is a Python keyword, hence `class_`; the loader renames it."""

    table: ClassVar[str] = "compile_errors"
    run_id: str
    turn: int | None = None
    seq: int | None = None
    ordinal: int = 0
    toolchain: str | None = None
    severity: str | None = None
    file: str | None = None
    line: int | None = None
    col: int | None = None
    code: str | None = None
    message: str | None = None
    class_: str | None = msgspec.field(default=None, name="class")


class Timeout(Row, kw_only=True):
    table: ClassVar[str] = "timeouts"
    run_id: str
    turn: int | None = None
    seq: int | None = None
    scope: str
    budget_s: float | None = None
    elapsed_s: float | None = None
    message: str | None = None


class Metric(Row, kw_only=True):
    table: ClassVar[str] = "metrics"
    run_id: str
    turn: int | None = None
    seq: int | None = None
    subject: str
    name: str
    value: float
    unit: str | None = None
    source: str | None = None


class Baseline(Row, kw_only=True):
    table: ClassVar[str] = "baselines"
    source_id: str
    suite: str | None = None
    hardware: str | None = None
    baseline: str | None = None
    level: int | None = None
    problem_name: str | None = None
    mean_us: float | None = None
    std_us: float | None = None
    min_us: float | None = None
    max_us: float | None = None
    n_trials: int | None = None
    era: str | None = None


class Annotation(Row, kw_only=True):
    table: ClassVar[str] = "annotations"
    source_id: str
    run_id: str | None = None
    kernel_sha256: str | None = None
    verdict: str | None = None
    text: str | None = None
    author: str | None = None


class Verification(Row, kw_only=True):
    table: ClassVar[str] = "verifications"
    verification_id: str
    source_id: str
    kernel_sha256: str
    suite: str | None = None
    level: int | None = None
    variant: str | None = None
    problem_name: str | None = None
    precision: str | None = None
    reference_sha256: str | None = None
    claimed_speedup: float | None = None
    verdict: str
    kind: str | None = None
    correctness: str
    speed: str
    gate: str | None = None
    witness: JSON = None
    badges: list[str] | None = None
    speedup: float | None = None
    speedup_lo: float | None = None
    speedup_hi: float | None = None
    baseline: str | None = None
    device: str | None = None
    gpu_model: str | None = None
    protocol: str | None = None
    sandbox_ok: bool | None = None
    verified_at: datetime | None = None
    document: JSON = None


class VerificationCheck(Row, kw_only=True):
    table: ClassVar[str] = "verification_checks"
    verification_id: str
    source_id: str
    gate: str
    passed: bool | None = None
    n: int | None = None
    detail: JSON = None


class VerificationTiming(Row, kw_only=True):
    table: ClassVar[str] = "verification_timings"
    verification_id: str
    source_id: str
    baseline: str
    pair: int
    ref_us: float | None = None
    cand_us: float | None = None
    kept: bool | None = None
    clock_mhz: float | None = None


class Issue(Row, kw_only=True):
    table: ClassVar[str] = "ingest_issues"
    source_id: str
    path: str
    severity: str
    code: str
    message: str
    location: str | None = None
    run_id: str | None = None


class Copy(Row, kw_only=True):
    table: ClassVar[str] = "run_copies"
    run_id: str
    source_id: str
    reason: str
    finished_at: datetime | None = None
    record: JSON


ROW_TYPES: dict[str, type[Row]] = {
    row.table: row
    for row in (
        Problem, Run, Turn, Message, ToolCall, Kernel, CompileError, Timeout, Metric,
        Baseline, Annotation, Verification, VerificationCheck, VerificationTiming, Issue, Copy,
    )
}
"""Every record a format may emit, by table."""
