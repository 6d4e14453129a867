"""Intervals against values worked out another way."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from kbstats.analytics import stats


@pytest.mark.parametrize(
    ("k", "n", "lo", "hi"),
    [
        # Newcombe, Statistics in Medicine 17 (1998) 857, table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_against_published_values(k, n, lo, hi):
    got = stats.wilson(k, n)
    assert got.lo == pytest.approx(lo, abs=5e-5)
    assert got.hi == pytest.approx(hi, abs=5e-5)


def test_wilson_solves_its_own_equation():
    for k, n in ((3, 10), (70, 89), (1, 1000)):
        for end in stats.wilson(k, n):
            assert abs(k / n - end) == pytest.approx(stats.Z95 * math.sqrt(end * (1 - end) / n))


def test_wilson_holds_the_rate_and_stays_in_bounds():
    for n in range(1, 60):
        for k in range(n + 1):
            lo, hi = stats.wilson(k, n)
            assert 0 <= lo <= k / n <= hi <= 1
    assert stats.wilson(0, 0) == stats.UNKNOWN


def test_geomean():
    assert stats.geomean([]) is None
    assert stats.geomean([4.0, 0.25]) == pytest.approx(1.0)
    assert stats.geomean([1e300] * 50) == pytest.approx(1e300)


def plain_bootstrap(values, problems, resamples=4000):
    """The same by loops over Python's own random numbers."""
    rng = random.Random(1)
    groups = {}
    for v, p in zip(values, problems, strict=True):
        groups.setdefault(p, []).append(v)
    names = list(groups)
    means, medians = [], []
    for _ in range(resamples):
        drawn = [v for p in rng.choices(names, k=len(names)) for v in groups[p]]
        logs = [math.log(v) for v in drawn]
        means.append(math.exp(statistics.fmean(logs)))
        medians.append(statistics.median(drawn))
    cut = statistics.quantiles
    return [(q[0], q[-1]) for q in (cut(means, n=40, method="inclusive"), cut(medians, n=40, method="inclusive"))]


@pytest.mark.parametrize("per_problem", [1, 3])
def test_bootstrap_against_plain_python(per_problem):
    rng = random.Random(7)
    problems = [f"p{i // per_problem}" for i in range(60)]
    effect = {p: rng.gauss(0, 1) for p in problems}
    values = [math.exp(effect[p] + rng.gauss(0, 0.3)) for p in problems]
    got = stats.bootstrap(values, problems)
    for (lo, hi), (want_lo, want_hi) in zip(got, plain_bootstrap(values, problems), strict=True):
        assert math.log(lo) == pytest.approx(math.log(want_lo), abs=0.06)
        assert math.log(hi) == pytest.approx(math.log(want_hi), abs=0.06)


def test_bootstrap_resamples_problems_not_runs():
    """Copies of the same problems say nothing new: the interval must not shrink."""
    values, problems = [1.0, 2.0, 4.0, 8.0], list("abcd")
    one, _ = stats.bootstrap(values, problems)
    many, _ = stats.bootstrap(values * 25, problems * 25)
    assert many == pytest.approx(one)


def test_bootstrap_is_reproducible_and_needs_three_problems():
    values, problems = [1.5, 2.0, 9.0, 0.5], ["a", "b", "c", "c"]
    assert stats.bootstrap(values, problems) == stats.bootstrap(values, problems)
    assert stats.bootstrap([1.5, 2.0, 3.0], ["a", "b", "b"]) == (stats.UNKNOWN, stats.UNKNOWN)
    assert stats.bootstrap([], []) == (stats.UNKNOWN, stats.UNKNOWN)


def test_weighted_medians_against_statistics():
    import numpy as np

    rng = np.random.default_rng(3)
    ordered = np.sort(rng.normal(size=9))
    weights = rng.integers(0, 4, size=(200, 9))
    weights[:, 4] += weights.sum(axis=1) == 0
    got = stats._medians(ordered, weights)
    want = [statistics.median([v for v, w in zip(ordered, row, strict=True) for _ in range(w)]) for row in weights]
    assert got == pytest.approx(want)


def test_blocks_change_nothing(monkeypatch):
    values, problems = [float(i + 1) for i in range(12)], [f"p{i % 5}" for i in range(12)]
    whole = stats.bootstrap(values, problems)
    monkeypatch.setattr(stats, "_CELLS", 1000)
    for got, want in zip(stats.bootstrap(values, problems), whole, strict=True):
        assert got == pytest.approx(want, rel=1e-9)


def test_medians_are_the_same_near_the_middle_and_over_all(monkeypatch):
    """The window is a shortcut: with one that reaches nowhere everything is looked at."""
    import numpy as np

    rng = np.random.default_rng(3)
    ordered = np.sort(rng.lognormal(size=600))
    problem = rng.integers(0, 60, size=600)
    times = stats._times(rng.integers(0, 60, size=(200, 60), dtype=np.int32), 60)
    assert times.sum(axis=1).tolist() == [60] * 200
    want = [np.median(np.repeat(ordered, row[problem])) for row in times]
    assert stats._medians_near(ordered, problem, times).tolist() == want
    # A window off the medians of these rows is refused.
    lopsided = np.zeros((1, 60), dtype=np.int64)
    lopsided[0, problem[-1]] = 60
    assert stats._medians_near(ordered, problem, lopsided)[0] == np.median(ordered[problem == problem[-1]])
