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
    if len(values) == 1:  # exactly: through its logarithm it would differ in the last bit
        return float(values[0])
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
    order = np.argsort(speedups, kind="stable")
    per_problem = np.bincount(index, minlength=len(names)).astype(np.float64)
    log_sums = np.bincount(index, weights=np.log(speedups), minlength=len(names))
    single = len(values) == len(names)
    rng = np.random.default_rng(SEED)
    means, medians = np.empty(RESAMPLES), np.empty(RESAMPLES)
    block = max(1, _CELLS // len(values))
    for start in range(0, RESAMPLES, block):
        stop = min(start + block, RESAMPLES)
        drawn = rng.integers(0, len(names), size=(stop - start, len(names)), dtype=np.int32)
        means[start:stop] = np.exp(log_sums[drawn].sum(axis=1) / per_problem[drawn].sum(axis=1))
        if single:
            medians[start:stop] = np.median(speedups[drawn], axis=1)
        else:
            times = _times(drawn, len(names))
            medians[start:stop] = _medians_near(speedups[order], index[order], times)
    return _percentiles(means), _percentiles(medians)


def _times(drawn: NDArray[np.int32], n: int) -> NDArray[np.int64]:
    """How often each of n problems stands in each row of draws, shape (block, n)."""
    import numpy as np

    rows = np.arange(len(drawn), dtype=np.int64)[:, None] * n
    return np.bincount((rows + drawn).ravel(), minlength=len(drawn) * n).reshape(len(drawn), n)


def _medians_near(
    ordered: NDArray[np.float64], problem: NDArray[np.intp], times: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Median of each resample, looking first only where medians of resamples lie.

    Their rank scatters by at most half of n over the root of the number of problems; five times that
    around the middle is looked at. Where one lies outside, everything is.

    Args:
        ordered: Values in ascending order, shape (n,).
        problem: The problem of each, shape (n,).
        times: How often each problem is drawn, shape (block, problems).
    """
    import numpy as np

    n, problems = len(ordered), times.shape[1]
    reach = int(2.5 * n / math.sqrt(problems)) + 2
    first, last = max(0, n // 2 - reach), min(n, n // 2 + reach)
    if last - first < n:
        below = times @ np.bincount(problem[:first], minlength=problems)
        total = times @ np.bincount(problem, minlength=problems)
        within = times @ np.bincount(problem[first:last], minlength=problems)
        if (below < (total + 1) // 2).all() and (below + within >= total // 2 + 1).all():
            return _medians(ordered[first:last], times[:, problem[first:last]], below=below, total=total)
    return _medians(ordered, times[:, problem])


def _medians(
    ordered: NDArray[np.float64],
    weights: NDArray[np.int64],
    *,
    below: NDArray[np.int64] | None = None,
    total: NDArray[np.int64] | None = None,
) -> NDArray[np.float64]:
    """Median of each row's multiset, in which value j stands `weights[i, j]` times.

    Args:
        ordered: Values in ascending order, shape (n,).
        weights: How often each is drawn, shape (block, n); no row is all zero.
        below: How many further values of each row lie below all of these.
        total: How many values each row has in all.
    """
    import numpy as np

    reached = np.cumsum(weights, axis=1, dtype=np.int32)
    if below is None or total is None:
        below, total = np.zeros(len(weights), dtype=np.int64), reached[:, -1].astype(np.int64)
    # positions from 1: the lower and the upper middle value of a sorted list of `total` values
    lower = (reached < ((total + 1) // 2 - below).astype(np.int32)[:, None]).sum(axis=1)
    upper = (reached < (total // 2 + 1 - below).astype(np.int32)[:, None]).sum(axis=1)
    middle: NDArray[np.float64] = (ordered[lower] + ordered[upper]) / 2
    return middle


def _percentiles(values: NDArray[np.float64]) -> Interval:
    import numpy as np

    lo, hi = np.percentile(values, [2.5, 97.5])
    return Interval(float(lo), float(hi))
