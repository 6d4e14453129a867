"""From gates and an interval to a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

MARGIN = 0.05
"""How far below its claim an interval's low end may lie and still confirm it, on the same GPU model."""

FASTER = 1.01
"""A speedup counts from here on: 1 % is what two equal sides differ by on a quiet machine."""


@dataclass(frozen=True)
class Refusal:
    """Why a candidate was not accepted."""

    word: str
    kind: str | None
    gate: str
    witness: dict[str, Any] | None
    correctness: str = "failed"

    @property
    def verdict(self) -> str:
        """WORD or WORD:kind."""
        return f"{self.word}:{self.kind}" if self.kind else self.word


@dataclass(frozen=True)
class Speed:
    """A measured speedup with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """`faster`, `slower` or `same` as the reference."""
        if self.low > FASTER:
            return "faster"
        return "slower" if self.high < 2.0 - FASTER else "same"


def judge_speed(speed: Speed, claim: float | None, *, precision_class: str, timed_pairs: int) -> tuple[str, str | None]:  # noqa: PLR0911  one return a finding
    """Return (word, kind) for a candidate that computes the right thing.

    Args:
        speed: what was measured.
        claim: the claimed speedup, None where there is none or it was claimed for other hardware.
        precision_class: `own`, or the lower class its errors belong to.
        timed_pairs: pairs of processes that were timed; one cannot decide.
    """
    if precision_class != "own":
        return "CONFIRMED_REDUCED", precision_class
    if timed_pairs < 2:
        return "INCONCLUSIVE", None
    if speed.high <= FASTER:
        return "NO_SPEEDUP", None
    if claim is None:
        return ("CONFIRMED", None) if speed.low > FASTER else ("INCONCLUSIVE", None)
    if speed.low > (1.0 + MARGIN) * claim and speed.low > FASTER:
        return "CONFIRMED_FASTER", None
    if speed.low >= (1.0 - MARGIN) * claim:
        return "CONFIRMED", None
    if speed.high < (1.0 - MARGIN) * claim and speed.low > FASTER:
        return "SLOWER_THAN_CLAIMED", None
    return "INCONCLUSIVE", None


def comparable(claimed_gpu: str | None, gpu: str | None, *, from_database: bool) -> bool:
    """Say whether a claim was made for the hardware that this ran on.

    A claim given by hand without a GPU is meant for this machine; one from a run that names no
    hardware is not compared.
    """
    if claimed_gpu is None:
        return not from_database
    if gpu is None:
        return False
    fold = [set(name.lower().replace("nvidia", "").replace("-", " ").split()) for name in (claimed_gpu, gpu)]
    return bool(fold[0] & fold[1]) and (fold[0] <= fold[1] or fold[1] <= fold[0])
