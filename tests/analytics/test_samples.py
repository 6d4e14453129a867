"""pass@k and best of k against every draw there is."""

from __future__ import annotations

import itertools
import math

import pytest
from kbstats.analytics import leaderboards as lb
from kbstats.analytics import samples


@pytest.mark.parametrize(("n", "correct", "k"), [(5, 2, 1), (5, 2, 3), (6, 0, 2), (4, 4, 4), (7, 3, 5)])
def test_pass_at_k_is_the_share_of_draws_with_a_correct_one(n, correct, k):
    draws = list(itertools.combinations([True] * correct + [False] * (n - correct), k))
    assert samples.pass_at_k(n, correct, k) == pytest.approx(sum(map(any, draws)) / len(draws))


@pytest.mark.parametrize(("speedups", "n", "k"), [([2.0, 8.0, 0.5], 5, 2), ([3.0], 1, 1), ([], 4, 3), ([1.5, 1.5, 9.0], 3, 3)])
def test_expected_best_is_the_mean_over_all_draws(speedups, n, k):
    values = [max(s, 1.0) for s in speedups] + [1.0] * (n - len(speedups))
    draws = [math.log(max(d)) for d in itertools.combinations(values, k)]
    assert samples.expected_best(speedups, n, k) == pytest.approx(sum(draws) / len(draws))


def test_columns_of_the_board(db):
    """Problem 1: right (4x), wrong. Problem 2: wrong, wrong. Problem 3: one right sample."""
    for i, (problem, speedup) in enumerate([(1, 4.0), (1, None), (2, None), (2, None), (3, 2.0)]):
        db.add("runs", run_id=f"r{i}", model="A", problem_id=problem, problem_name=f"{problem}.py", sample_id=i,
               source_outcome="correct" if speedup else "incorrect", correct=speedup is not None, speedup=speedup)  # fmt: skip
    (row,) = lb.board(db.fresh(), lb.Filters(), ks=[1, 2, 3]).rows
    assert row["pass_1"] == pytest.approx((0.5 + 0 + 1) / 3)
    assert (row["pass_2"], row["pass_2_problems"]) == (0.5, 2)
    assert row["best_of_2"] == pytest.approx(2.0)  # sqrt(4 * 1)
    assert (row["pass_3"], row["best_of_3"], row["pass_3_problems"]) == (None, None, 0)


@pytest.mark.parametrize("k", [1, 500, 1000, 2000])
def test_the_best_of_many_samples_is_a_number(k):
    """C(2000, 1000) passes the range of a float; two values half and half give a best by hand: 1 - C(1000, k) / C(2000, k)."""
    from fractions import Fraction

    chance = 1 - Fraction(math.comb(1000, k), math.comb(2000, k))
    assert samples.expected_best([2.0] * 1000 + [1.0] * 1000, 2000, k) == pytest.approx(float(chance) * math.log(2.0))
