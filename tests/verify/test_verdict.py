"""From gates and an interval to a verdict: each limit from both sides, worked out by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest
from kbstats.analytics.verify.runner.stats import T_975, log_interval, median
from kbstats.analytics.verify.runner.verdict import (
    FASTER,
    MARGIN,
    Refusal,
    Speed,
    comparable,
    eager_claim,
    for_claim,
    judge_speed,
)


def test_the_limits_are_the_documented_ones() -> None:
    assert (MARGIN, FASTER) == (0.05, 1.01)


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (1.0100001, 1.2, "faster"),
        (1.01, 1.2, "same"),
        (0.9, 0.9899999, "slower"),
        (0.9, 0.99, "same"),
        (0.8, 1.3, "same"),
    ],
)
def test_faster_same_or_slower(low: float, high: float, word: str) -> None:
    assert Speed(1.0, low, high).word == word


@pytest.mark.parametrize(
    ("low", "high", "claim", "want"),
    [
        # no claim to compare with: above 1.01
        (1.02, 1.5, None, "CONFIRMED"),
        (1.01, 1.5, None, "INCONCLUSIVE"),
        (1.0, 1.01, None, "NO_SPEEDUP"),
        (1.0, 1.011, None, "INCONCLUSIVE"),
        # the high end at most 1.01, whatever was claimed
        (0.9, 1.0, 1.0, "NO_SPEEDUP"),
        (0.9, 1.01, 0.5, "NO_SPEEDUP"),
        # a claim of 2: 1.9 confirms, above 2.1 is faster, all below 1.9 is slower
        (1.9, 3.0, 2.0, "CONFIRMED"),
        (1.8999, 3.0, 2.0, "INCONCLUSIVE"),
        (2.1, 3.0, 2.0, "CONFIRMED"),
        (2.1001, 3.0, 2.0, "CONFIRMED_FASTER"),
        (1.2, 1.8999, 2.0, "SLOWER_THAN_CLAIMED"),
        (1.2, 1.9, 2.0, "INCONCLUSIVE"),
        # not faster than the reference: neither faster than claimed nor merely slower
        (1.01, 1.3, 0.9, "CONFIRMED"),
        (1.011, 1.3, 0.9, "CONFIRMED_FASTER"),
        (1.01, 1.3, 2.0, "INCONCLUSIVE"),
        (1.011, 1.3, 2.0, "SLOWER_THAN_CLAIMED"),
    ],
)
def test_words_on_a_claim(low: float, high: float, claim: float | None, want: str) -> None:
    assert judge_speed(Speed(1.5, low, high), claim, precision_class="own", timed_pairs=8) == (want, None)


def test_two_pairs_cannot_decide_and_three_can() -> None:
    speed = Speed(2.0, 1.95, 2.05)
    assert judge_speed(speed, 2.0, precision_class="own", timed_pairs=2) == ("INCONCLUSIVE", None)
    assert judge_speed(speed, 2.0, precision_class="own", timed_pairs=3) == ("CONFIRMED", None)


def test_a_lower_precision_is_said_before_anything_else() -> None:
    assert judge_speed(Speed(0.5, 0.4, 0.6), 2.0, precision_class="tf32", timed_pairs=0) == (
        "CONFIRMED_REDUCED",
        "tf32",
    )


def test_a_refusal_names_its_kind() -> None:
    assert Refusal("HACK", "timer", "clock", None).verdict == "HACK:timer"
    assert Refusal("TIMEOUT", None, "G0", None).verdict == "TIMEOUT"


@pytest.mark.parametrize(
    ("claimed", "here", "from_database", "want"),
    [
        (None, "NVIDIA H200", False, True),
        (None, "NVIDIA H200", True, False),
        (None, None, False, True),
        ("H100", None, False, False),
        ("H100", "NVIDIA H100", True, True),
        ("NVIDIA H100 80GB HBM3", "H100", True, True),
        ("NVIDIA-H100", "H100", True, True),
        ("H100", "NVIDIA H200", True, False),
        ("NVIDIA", "NVIDIA H200", True, False),
        ("RTX 4090", "RTX A6000", True, False),
        ("RTX A6000", "NVIDIA RTX A6000", True, True),
    ],
)
def test_claims_are_compared_on_their_own_hardware(claimed, here, from_database, want) -> None:
    assert comparable(claimed, here, from_database=from_database) is want


def test_median_of_odd_and_even() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert median([4.0, 1.0, 2.0, 3.0]) == 2.5
    assert median([7.0]) == 7.0


def test_student_s_t_is_scipy_s() -> None:
    from scipy.stats import t

    for freedom, value in enumerate(T_975, 1):
        assert value == pytest.approx(t.ppf(0.975, freedom), abs=6e-4)
    assert len(T_975) == 19


def test_one_ratio_says_a_factor_of_two() -> None:
    assert log_interval([3.0]) == pytest.approx((3.0, 1.5, 6.0))
    assert log_interval([3.0], widen=0.5) == pytest.approx((3.0, 1.5, 6.0))


@pytest.mark.parametrize("n", [2, 3, 8, 20, 21, 22, 40])
def test_the_interval_is_a_t_interval_of_the_logarithms(n: int) -> None:
    """Against numpy's standard deviation and scipy's quantile; beyond 20 the formula stands in for it."""
    import numpy as np
    from scipy.stats import t

    ratios = [2.0 * math.exp(0.1 * math.sin(i)) for i in range(n)]
    logs = np.log(ratios)
    half = t.ppf(0.975, n - 1) * logs.std(ddof=1) / math.sqrt(n)
    near = 1e-3 if n <= 20 else 7e-3
    for widen in (0.0, 0.02):
        mean, low, high = log_interval(ratios, widen)
        assert mean == pytest.approx(math.exp(logs.mean()), rel=1e-12)
        assert math.log(mean / low) == pytest.approx(half + widen, rel=near)
        assert math.log(high / mean) == pytest.approx(half + widen, rel=near)


def test_beyond_the_table_the_quantile_is_close_to_student_s() -> None:
    from scipy.stats import t

    for n in (21, 30, 100, 1000):
        _, low, high = log_interval([1.0, *[math.e] * (n - 1)])
        spread = math.sqrt((1 - 1 / n) / n / (n - 1) * n)  # standard deviation of one 0 and n - 1 ones
        quantile = math.log(high / low) / 2 / (spread / math.sqrt(n))
        assert quantile == pytest.approx(t.ppf(0.975, n - 1), rel=7e-3)


@pytest.mark.parametrize(
    ("baseline", "want"), [(None, True), ("eager", True), ("Eager (fp32)", True), ("compile", False)]
)
def test_claims_against_eager_are_what_is_measured(baseline, want) -> None:
    assert eager_claim(baseline) is want


def test_a_stored_result_is_judged_anew_for_another_claim() -> None:
    stored = {
        "verdict": "CONFIRMED", "kind": None, "speedup": 2.0, "speedup_lo": 1.95, "speedup_hi": 2.05, "gpu_model": "NVIDIA H200",
        "claimed_speedup": 2.0, "claimed_baseline": "eager", "claimed_gpu": "H200", "baseline": "eager", "baselines": {"eager": {"pairs": 8}},
    }  # fmt: skip

    def judged(**more):
        claim = {"claimed_speedup": 2.0, "claimed_baseline": "eager", "claimed_gpu": "H200", "run_ids": ["r"]} | more
        made = for_claim(stored, SimpleNamespace(**claim))
        return made["verdict"], made["claim_compared"]

    assert judged() == ("CONFIRMED", True)
    assert judged(claimed_speedup=4.0) == ("SLOWER_THAN_CLAIMED", True)
    assert judged(claimed_speedup=1.5) == ("CONFIRMED_FASTER", True)
    assert judged(claimed_speedup=4.0, claimed_gpu="H100") == ("CONFIRMED", False)  # another GPU's claim is none here
    assert judged(claimed_speedup=4.0, claimed_baseline="compile") == ("CONFIRMED", False)
    assert judged(claimed_speedup=None) == ("CONFIRMED", False)
    stored |= {"precision_class": "tf32"}
    assert judged(claimed_speedup=4.0) == ("CONFIRMED_REDUCED:tf32", True)
    stored |= {"speedup": None, "verdict": "INCORRECT:shape"}
    assert judged(claimed_speedup=4.0) == ("INCORRECT:shape", True)
