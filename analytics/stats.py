"""Intervals: Wilson's for rates, a percentile bootstrap over problems for means and medians."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

Z95 = 1.959963984540054
"""97.5th percentile of the standard normal distribution."""

RESAMPLES = 10_000
SEED = 20_250_101
"""Fixed: the same runs give the same interval wherever it is computed."""

MIN_PROBLEMS = 3
"""Below this many problems resampling them says nothing; the interval is NULL."""

_CELLS = 4_000_000
"""Cells of one block of resamples x values: bounds memory at some 32 MB."""


class Interval(NamedTuple):
    """A 95 % interval; both ends None where it is not known."""

    lo: float | None
    hi: float | None


UNKNOWN = Interval(None, None)


def wilson(k: int, n: int, z: float = Z95) -> Interval:
    """Wilson's score interval of a rate.

    E. B. Wilson, "Probable inference, the law of succession, and statistical inference",
    J. Am. Stat. Assoc. 22 (1927) 209-212. Unlike the plain normal interval it stays within
    [0, 1] and is right for rates near 0 and 1.

    Args:
        k: Successes.
        n: Attempts; 0 gives an unknown interval.
        z: Quantile of the standard normal distribution.
    """
    if n <= 0:
        return UNKNOWN
    p = k / n
    denominator = 1 + z * z / n
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # At the ends one side is exactly 0 or 1; floating point may miss it by an ulp.
    lo = 0.0 if k == 0 else (centre - half) / denominator
    hi = 1.0 if k == n else (centre + half) / denominator
    return Interval(max(0.0, lo), min(1.0, hi))


def geomean(values: Sequence[float]) -> float | None:
    """Geometric mean of positive values; None for none."""
    return math.exp(math.fsum(map(math.log, values)) / len(values)) if values else None


def bootstrap(values: Sequence[float], problems: Sequence[str]) -> tuple[Interval, Interval]:
    """Percentile bootstrap of the geometric mean and of the median, resampling problems.

    Runs of one problem are not independent, so problems are drawn with replacement and bring all
    their runs along. Resampling runs instead gives intervals that are too narrow wherever a
    problem was attempted more than once.

    Args:
        values: Speedups, shape (n,), all above 0, in the order of run_id.
        problems: The problem of each value, shape (n,).

    Returns:
        The intervals of the geometric mean and of the median; unknown below three problems.
    """
    import numpy as np

    names = {p: i for i, p in enumerate(dict.fromkeys(problems))}
    if len(names) < MIN_PROBLEMS:
        return UNKNOWN, UNKNOWN
    index = np.fromiter((names[p] for p in problems), dtype=np.intp, count=len(problems))
    speedups = np.asarray(values, dtype=np.float64)
    logs = np.log(speedups)
    order = np.argsort(speedups, kind="stable")
    per_problem = np.bincount(index, minlength=len(names)).astype(np.float64)
    log_sums = np.bincount(index, weights=logs, minlength=len(names))
    rng = np.random.default_rng(SEED)
    chances = np.full(len(names), 1 / len(names))
    means, medians = np.empty(RESAMPLES), np.empty(RESAMPLES)
    block = max(1, _CELLS // max(len(names), len(values)))
    for start in range(0, RESAMPLES, block):
        stop = min(start + block, RESAMPLES)
        drawn = rng.multinomial(len(names), chances, size=stop - start)  # (block, problems)
        means[start:stop] = np.exp((drawn @ log_sums) / (drawn @ per_problem))
        medians[start:stop] = _medians(speedups[order], drawn[:, index[order]])
    return _percentiles(means), _percentiles(medians)


def _medians(ordered: NDArray[np.float64], weights: NDArray[np.int64]) -> NDArray[np.float64]:
    """Median of each row's multiset, in which value j stands `weights[i, j]` times.

    Args:
        ordered: Values in ascending order, shape (n,).
        weights: How often each is drawn, shape (block, n); no row is all zero.
    """
    import numpy as np

    reached = np.cumsum(weights, axis=1, dtype=np.int64)
    total = reached[:, -1]
    # positions from 1: the lower and the upper middle value of a sorted list of `total` values
    lower = (reached < ((total + 1) // 2)[:, None]).sum(axis=1)
    upper = (reached < (total // 2 + 1)[:, None]).sum(axis=1)
    middle: NDArray[np.float64] = (ordered[lower] + ordered[upper]) / 2
    return middle


def _percentiles(values: NDArray[np.float64]) -> Interval:
    import numpy as np

    lo, hi = np.percentile(values, [2.5, 97.5])
    return Interval(float(lo), float(hi))
