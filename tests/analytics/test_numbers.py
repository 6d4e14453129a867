"""Limits of the statistics, each found by breaking them one token at a time (benchmarks/mutate.py)."""

from __future__ import annotations

import math

import pytest
from kbstats.analytics import compare, leaderboards, samples, stats


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


def test_of_several_runs_the_share_counts_and_the_widest_noise() -> None:
    place = dict.fromkeys(("problem_key", "level", "problem_id", "problem_name", "sample_id", "run_id", "failure_class"))

    def cell(*right: bool, noise: tuple[float, ...] = (0.02,)) -> compare.Cell:
        rows = [{**place, "counts_correct": r, "speedup": None, "outcome": "x", "noise_band": noise[0]} for r in right]
        rows[-1]["noise_band"] = noise[-1]
        return compare._cell(rows)

    third, half = cell(True, False, False), cell(True, False, noise=(0.1, 0.3))
    assert (third.correct, half.correct) == (pytest.approx(1 / 3), 0.5)
    assert half.noise == 0.3
    assert (compare.judge(third, half), compare.judge(half, third)) == ("loss", "win")


def test_losses_by_class_levels_and_what_one_side_alone_ran(db) -> None:
    """Class by class: A lost one by a wrong answer and B two; A was slower in three and B in one."""
    sides = {"A": (2.0, 2.0, None, 1.0, 1.0, 1.0, 4.0), "B": (None, None, 2.0, 2.0, 2.0, 2.0, 1.0)}
    for model, speeds in sides.items():
        for i, speed in enumerate(speeds):
            right = "correct" if speed else "incorrect"
            where = {"problem_id": i, "problem_name": f"{i}.py", "level": None if i == 3 else 1}
            db.add("runs", run_id=f"{model}{i}", model=model, source_outcome=right, correct=bool(speed), speedup=speed, **where)
    for i in (8, 9):
        db.add("runs", run_id=f"A{i}", model="A", problem_id=i, problem_name=f"{i}.py", source_outcome="correct", correct=True, speedup=float(i))
    found = compare.compare(db.fresh(), "A", "B", leaderboards.Filters())
    lost = {c["class"]: (c["a_lost"], c["b_lost"]) for c in found["by_class"]}
    assert lost == {"incorrect.no_text": (1, 2), "slower": (3, 1)}
    assert [(v["level"], v["pairs"]) for v in found["by_level"]] == [(1, 6), (None, 1)]
    assert [(r["problem_id"], round(r["speedup"], 9)) for r in found["only_a"]] == [(8, 8.0), (9, 9.0)]
