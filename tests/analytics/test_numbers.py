"""Limits of the statistics, each found by breaking them one token at a time (benchmarks/mutate.py)."""

from __future__ import annotations

import math

import pytest
from kbstats.analytics import samples, stats


def test_three_problems_are_enough_for_an_interval_and_two_are_not() -> None:
    speedups, problems = [1.0, 2.0, 4.0], ["a", "b", "c"]
    mean, middle = stats.bootstrap(speedups, problems)
    assert mean.lo is not None
    assert middle.lo is not None
    assert 1.0 <= mean.lo < 2.0 < mean.hi <= 4.0
    assert stats.bootstrap(speedups, ["a", "b", "b"]) == (stats.UNKNOWN, stats.UNKNOWN)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_a_rate_s_interval_stays_within_zero_and_one_and_holds_the_rate(n: int) -> None:
    for k in range(0, n + 1, max(1, n // 10)):
        lo, hi = stats.wilson(k, n)
        assert 0.0 <= lo <= k / n <= hi <= 1.0
    assert stats.wilson(0, n).lo == 0.0
    assert stats.wilson(n, n).hi == 1.0


def test_the_expected_best_is_the_mean_over_all_draws() -> None:
    """Against every draw of k of n, written out."""
    from itertools import combinations

    speedups, n = [0.5, 1.5, 2.0, 4.0], 6
    logs = [max(math.log(s), 0.0) for s in speedups] + [0.0] * (n - len(speedups))
    for k in range(1, n + 1):
        draws = [max(draw) for draw in combinations(logs, k)]
        assert samples.expected_best(speedups, n, k) == pytest.approx(math.fsum(draws) / len(draws))
