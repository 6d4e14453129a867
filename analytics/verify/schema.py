"""The published schema of a result document, checked before a results file is taken in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec
from kbstats.analytics.verify.runner import SCHEMA
from kbstats.ingest.errors import KbstatsError

if TYPE_CHECKING:
    from pathlib import Path

Word = Literal[
    "CONFIRMED",
    "CONFIRMED_FASTER",
    "CONFIRMED_REDUCED",
    "SLOWER_THAN_CLAIMED",
    "NO_SPEEDUP",
    "INCONCLUSIVE",
    "INCORRECT",
    "FLAKY",
    "HACK",
    "SUSPECT",
    "IMPLAUSIBLE",
    "DEGENERATE_PROBLEM",
    "BUILD_FAILED",
    "CRASHED",
    "TIMEOUT",
    "UNVERIFIABLE",
]
"""Verdict words; a verdict is one of them, or one with `:kind` behind it."""


class Check(msgspec.Struct):
    """One gate's outcome."""

    gate: str
    passed: bool
    n: int
    detail: dict[str, Any]


class Timing(msgspec.Struct):
    """One pair of processes, microseconds a call."""

    baseline: str
    pair: int
    ref_us: float
    cand_us: float
    kept: bool
    clock_mhz: float | None


class Document(msgspec.Struct, kw_only=True):
    """One line of a results file. Unknown keys are kept by whoever stores the line, and ignored here."""

    schema: Literal["kbstats.verification/1"]
    verification_id: str
    protocol: str
    kbstats_version: str
    kernel_sha256: str
    reference_sha256: str
    suite: str | None
    level: int | None
    variant: str | None
    problem_name: str | None
    precision: str | None
    claimed_speedup: float | None
    claimed_gpu: str | None
    verdict: str
    kind: str | None
    correctness: Literal["passed", "failed", "flaky", "unknown"]
    speed: Literal["faster", "same", "slower", "not_measured"]
    gate: str | None
    witness: dict[str, Any] | None
    badges: list[str]
    speedup: float | None
    speedup_lo: float | None
    speedup_hi: float | None
    baseline: str
    device: Literal["cpu", "cuda"]
    gpu_model: str | None
    sandbox_ok: bool
    sandbox: dict[str, Any]
    verified_at: str
    checks: list[Check]
    timings: list[Timing]
    baselines: dict[str, Any]
    machine: dict[str, Any]
    seeds: dict[str, Any]
    errors: dict[str, Any]
    would_pass: dict[str, bool]
    verified_calls: int = 0
    replay_of: str | None = None
    kernels: list[dict[str, Any]] = []
    gpu_state: dict[str, Any] = {}

    def __post_init__(self) -> None:
        """Tie the fields to each other.

        Raises:
            ValueError: if they contradict.
        """
        word, _, kind = self.verdict.partition(":")
        if word not in get_args(Word) or (kind or None) != self.kind:
            raise ValueError(f"verdict {self.verdict!r} with kind {self.kind!r}")
        lo, hi = self.speedup_lo, self.speedup_hi
        if self.speedup is not None and (lo is None or hi is None or not lo <= self.speedup <= hi):
            raise ValueError("speedup outside of its own interval")
        if (self.speed == "not_measured") != (self.speedup is None):
            raise ValueError("speed and speedup contradict")


def check_file(path: Path) -> int:
    """Check every line of a results file; returns the number of results.

    Raises:
        KbstatsError: with the line, if one is not a result of this schema.
    """
    decoder = msgspec.json.Decoder(Document)
    count = 0
    try:
        data = path.read_bytes()
    except OSError as error:
        raise KbstatsError(f"cannot read the results ({error.strerror})", location=path) from error
    lines = data.splitlines()
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            decoder.decode(line)
        except (msgspec.DecodeError, ValueError) as error:
            hint = (
                "the run was cut off while writing it; delete the line and run the bundle again"
                if number == len(lines) and not data.endswith(b"\n")
                else None
            )
            raise KbstatsError(f"not a line of {SCHEMA}: {error}", location=f"{path}:{number}", hint=hint) from error
        count += 1
    if not count:
        raise KbstatsError("the file holds no results", location=path)
    return count
