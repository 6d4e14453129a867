"""From gates and an interval to a verdict."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .items import Item

MARGIN = 0.05
"""How far below its claim an interval's low end may lie and still confirm it, on the same GPU model."""

FEWEST_PAIRS = 3
"""Undisturbed pairs of processes without which no speed is decided."""

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
        timed_pairs: pairs of processes that count; fewer than three cannot decide.
    """
    if precision_class != "own":
        return "CONFIRMED_REDUCED", precision_class
    if timed_pairs < FEWEST_PAIRS:
        return "INCONCLUSIVE", None
    if speed.high <= FASTER:
        return "NO_SPEEDUP", None
    if claim is None:
        return ("CONFIRMED", None) if speed.low > FASTER else ("INCONCLUSIVE", None)
    if speed.low > (1.0 + MARGIN) * claim and speed.low > FASTER:
        return "CONFIRMED_FASTER", None
    if speed.low >= (1.0 - MARGIN) * claim and (speed.low > FASTER or claim <= FASTER):
        return "CONFIRMED", None
    if speed.high < (1.0 - MARGIN) * claim and speed.low > FASTER:
        return "SLOWER_THAN_CLAIMED", None
    return "INCONCLUSIVE", None


def eager_claim(baseline: str | None) -> bool:
    """Say whether a claim is one against eager, which is what is measured; unnamed ones are."""
    return baseline is None or baseline.lower().startswith("eager")


def comparable(claimed_gpu: str | None, gpu: str | None, *, from_database: bool) -> bool:
    """Say whether a claim was made for the hardware that this ran on.

    A claim given by hand without a GPU is meant for this machine; one from a run that names no
    hardware is not compared.
    """
    if claimed_gpu is None:
        return not from_database
    return gpu is not None and gpu_key(claimed_gpu) == gpu_key(gpu)


GPU_MODEL = re.compile(
    r"(?:^|[^A-Z0-9])(GB300|GB200|GH200|B300|B200|H200|H100|H800|H20|A100|A800|A6000|A40|A30|A10G|A10|L40S|L40|L20|L4|T4|V100|P100|MI\d{3}X?)(?:SXM\d?|PCIE|NVL)?(?:[^A-Z0-9]|$)"
)
RTX_MODEL = re.compile(r"RTX[ _-]?((?:PRO[ _-]?)?\d{4}(?:[ _-]?(?:TI|SUPER|LAPTOP))*)")
"""The database's macro `gpu_key` uses the same; a test compares the two. Bounded: an RTX A4000 is no A40."""


def gpu_key(name: str) -> str:
    """Return a GPU's model out of the many ways in which harnesses and drivers write it.

    >>> gpu_key("H100_Modal"), gpu_key("NVIDIA H200"), gpu_key("RTX4090"), gpu_key(" some card ")
    ('H100', 'H200', 'RTX 4090', 'SOME CARD')
    """
    found = GPU_MODEL.search(name.upper())
    if found:
        return found.group(1)
    consumer = RTX_MODEL.search(name.upper())
    return f"RTX {re.sub('[ _-]+', ' ', consumer.group(1))}" if consumer else name.strip(" ").upper()


CLAIM = ("claimed_speedup", "claimed_baseline", "claimed_gpu")


def for_claim(document: dict[str, Any], item: Item) -> dict[str, Any]:
    """Return a stored result with the word that fits another claim: what was measured does not hang on it."""
    claims = {name: getattr(item, name) for name in CLAIM}
    known = comparable(item.claimed_gpu, document["gpu_model"], from_database=bool(item.run_ids))
    known = known and eager_claim(item.claimed_baseline)
    made = {**document, **claims, "claim_compared": item.claimed_speedup is not None and known}
    if document["speedup"] is None or all(document.get(name) == value for name, value in claims.items()):
        return made
    word, kind = judge_speed(
        Speed(document["speedup"], document["speedup_lo"], document["speedup_hi"]),
        item.claimed_speedup if known else None,
        precision_class=document.get("precision_class") or "own",
        timed_pairs=document["baselines"][document["baseline"]]["pairs"],
    )
    return {**made, "verdict": f"{word}:{kind}" if kind else word, "kind": kind}
