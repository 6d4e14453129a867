"""Speedups from hand-made pairs, where the right answer can be worked out on paper."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from kbstats.analytics.verify.runner import BASELINES
from kbstats.analytics.verify.runner.challenge import Checks
from kbstats.analytics.verify.runner.pairs import Pair, Timed
from kbstats.analytics.verify.runner.side import FURTHER
from kbstats.analytics.verify.runner.timing import Timer

REF_S, TRUE_S, FLUSH_S = 50e-6, 150e-6, 300e-6


def pair(told_s: float, noise: float) -> Pair:
    """Two rounds: a candidate that takes 150 us and says `told_s`, a reference of 50 us, 300 us around each call."""
    p = Pair(by_round=True)
    for _ in range(4):
        for side, inner, real in (("ref", REF_S, REF_S), ("cand", told_s, TRUE_S), ("ctl", REF_S, REF_S)):
            p.times[side].append(inner * noise)
            p.blocks[side].append(inner * noise)
            p.outer[side].append(real * noise + FLUSH_S)
            p.gaps[side].append((real - inner) * noise + FLUSH_S)
    for mode in ("busy", "graph"):
        p.modes[mode] = {"ref": [20e-6] * 4, "cand": [told_s] * 4, "ctl": [20e-6] * 4}
        p.mode_outer[mode] = {"ref": [20e-6 + FLUSH_S] * 2, "cand": [TRUE_S + FLUSH_S] * 2}
    return p


def timed(told_s: float) -> Timed:
    return Timed([pair(told_s, n) for n in (0.99, 1.0, 1.01)], 12, fresh=True, count=4)


def test_a_false_clock_counts_in_no_mode() -> None:
    false = timed(1e-6)
    assert false.inner_speed().value == pytest.approx(50.0)
    assert false.overruled
    assert false.speed().value == pytest.approx(1 / 3, rel=0.02)
    assert false.mode("busy") is None
    rows = false.rows("eager")
    assert {r["baseline"] for r in rows} == {"eager"}
    assert [r["cand_us"] for r in rows] == pytest.approx([150.0] * 3, rel=0.02)
    found = false.baselines("eager")
    assert found["eager"]["cand_us"] == pytest.approx(150.0, rel=0.02)
    assert "contradict" in found["gpu_busy"]["missing"]
    assert "contradict" in found["cuda_graph"]["missing"]


def test_an_honest_clock_counts_in_all() -> None:
    honest = timed(TRUE_S)
    assert not honest.overruled
    assert honest.speed().value == pytest.approx(1 / 3)
    found = honest.baselines("eager")
    assert found["eager"]["cand_us"] == pytest.approx(150.0)
    assert found["gpu_busy"]["speedup"] == pytest.approx(20 / 150)
    assert {r["baseline"] for r in honest.rows("eager")} == {"eager", "gpu_busy", "cuda_graph"}


def test_pairs_whose_clocks_differ_are_dropped() -> None:
    four = [pair(TRUE_S, 1.0) for _ in range(4)]
    four[0].clocks = {"ref": 1980, "cand": 1900}
    assert len(Timed(four, 16, fresh=True, count=4).used()) == 3
    four[1].slowed = True
    # Two are left: no speed is decided by those, and the report says how many went.
    few = Timed(four, 16, fresh=True, count=4)
    assert len(few.used()) == 2
    assert few.baselines("eager")["eager"]["dropped_pairs"] == 2
    assert [r["kept"] for r in few.rows("eager") if r["baseline"] == "eager"] == [False, False, True, True]
    for p in four:
        p.slowed = True
    assert len(Timed(four, 16, fresh=True, count=4).used()) == 4


@pytest.mark.parametrize("n", [3, 8, 12])
def test_sleeping_beside_the_clock_does_not_loosen_the_bound(n: int) -> None:
    # 1.8x by its own clock for the reference's own work of 500 us, and a long sleep behind the calls of one pair.
    pairs = []
    for i in range(n):
        p, work, noise = Pair(by_round=True), 500e-6, 1.0 + 0.002 * (i - n / 2)
        for side, told in (("ref", work), ("cand", work / 1.8), ("ctl", work)):
            slept = 5e-3 if side == "cand" and i == 1 else 0.0
            p.times[side] = p.blocks[side] = [told * noise] * 4
            p.outer[side] = [work * noise + FLUSH_S + slept] * 4
            p.gaps[side] = [(work - told) * noise + FLUSH_S + slept] * 4
        pairs.append(p)
    slept = Timed(pairs, 4 * n, fresh=True, count=4)
    assert slept.overruled
    assert slept.speed().low < 1.01
    assert slept.speed().high < 1.1


def test_a_clock_that_lies_in_one_mode_alone_does_not_count_there() -> None:
    pairs = [pair(TRUE_S, n) for n in (0.99, 1.0, 1.01)]
    for p in pairs:
        p.modes["graph"]["cand"] = [1e-6] * 4
    honest = Timed(pairs, 12, fresh=True, count=4)
    assert not honest.overruled
    assert honest.mode("busy") is not None
    assert honest.mode("graph") is None
    assert "contradict" in honest.baselines("eager")["cuda_graph"]["missing"]
    assert {r["baseline"] for r in honest.rows("eager")} == {"eager", "gpu_busy"}


def test_every_baseline_that_can_be_asked_for_exists() -> None:
    assert set(FURTHER) == set(BASELINES)
    assert len({b.name for b in FURTHER.values()}) == len(BASELINES)


def test_a_host_that_is_slow_now_and_then_accuses_nobody() -> None:
    # 2x, honest; the blocks of one round of each pair took a millisecond more, as seen on an H200.
    pairs = []
    for _ in range(3):
        p = Pair(by_round=True)
        for side, took in (("ref", 100e-6), ("cand", 50e-6), ("ctl", 100e-6)):
            extra = [1e-3, 0.0, 0.0, 0.0] if side == "cand" else [0.0] * 4
            p.times[side] = p.blocks[side] = [took] * 4
            p.outer[side] = [took + FLUSH_S + e for e in extra]
            p.gaps[side] = [FLUSH_S + e for e in extra]
        pairs.append(p)
    honest = Timed(pairs, 12, fresh=True, count=4)
    assert honest.outer_speed().high < honest.inner_speed().low
    assert not honest.overruled
    assert honest.speed().value == pytest.approx(2.0)


def test_a_clock_that_is_honest_in_one_block_of_each_pair_is_overruled() -> None:
    pairs = []
    for _ in range(3):
        p = Pair(by_round=True)
        lies = [500e-6, 50e-6, 50e-6, 50e-6]
        for side, took, told in (("ref", 500e-6, [500e-6] * 4), ("cand", 500e-6, lies), ("ctl", 500e-6, [500e-6] * 4)):
            p.times[side] = p.blocks[side] = told
            p.outer[side] = [took + FLUSH_S] * 4
            p.gaps[side] = [took - t + FLUSH_S for t in told]
        pairs.append(p)
    assert Timed(pairs, 12, fresh=True, count=4).overruled


def loaded(cand: list[float], ctl: list[float], gap_s: float = 0.0) -> Timed:
    """Pairs on a busy CPU: calls of 100 us on all sides, and seconds a call that blocks waited for their core."""
    pairs = []
    for mine, other in zip(cand, ctl, strict=True):
        p = Pair()
        for side, waited, more in (("ref", 100e-6, 0.0), ("cand", mine, gap_s), ("ctl", other, 0.0)):
            p.times[side] = p.blocks[side] = [100e-6] * 4
            p.outer[side] = [100e-6 + waited + 30e-6 + more] * 4
            p.gaps[side] = [30e-6 + more] * 4
        pairs.append(p)
    return Timed(pairs, 4 * len(pairs), fresh=True, count=4)


def test_two_equal_sides_on_a_busy_cpu_are_never_told_apart() -> None:
    # The candidate's blocks happened to wait longer in all pairs, the control's as often shorter.
    same = loaded([300e-6, 280e-6, 320e-6], [60e-6, 250e-6, 40e-6])
    assert same.outer_speed().high < 0.5
    assert same.inner_speed().low == pytest.approx(1.0)
    assert not same.overruled
    assert same.speed().low < 0.5
    assert same.speed().high == pytest.approx(1.0)
    # Nor where there was no time for a control, and the candidate's core was handed over between its calls.
    bare = loaded([300e-6, 280e-6, 320e-6], [0.0] * 3, gap_s=200e-6)
    for p in bare.pairs:
        p.times["ctl"], p.outer["ctl"] = [], []
    assert not bare.overruled
    assert bare.speed().low < 1.0 <= bare.speed().high * (1 + 1e-9)


def test_a_false_clock_on_a_quiet_cpu_is_still_overruled() -> None:
    # 300 us beside the calls in every block, where the control's blocks are like the reference's.
    false = loaded([100e-6] * 3, [101e-6, 99e-6, 100e-6], gap_s=300e-6)
    assert false.overruled
    assert false.speed().high < 0.3


def test_a_false_clock_that_tells_the_rest_for_one_slot_confirms_nothing() -> None:
    # No gap by the sum of its times, and a hundredth by their median: the outer clock's bound stays in the interval.
    pairs = []
    for noise in (0.99, 1.0, 1.01):
        p = Pair()
        for side in ("ref", "cand", "ctl"):
            told = [1e-6, 1e-6, 1e-6, 397e-6] if side == "cand" else [100e-6] * 4
            p.times[side] = p.blocks[side] = [t * noise for t in told]
            p.outer[side] = [130e-6 * noise] * 4
            p.gaps[side] = [30e-6] * 4
        pairs.append(p)
    found = Timed(pairs, 12, fresh=True, count=4)
    assert found.inner_speed().low > 50
    assert found.speed().low <= 1.01


@pytest.mark.parametrize(("control", "accused"), [(200e-6, True), (900e-6, False)])
def test_a_busy_cpu_accuses_no_clock(control: float, accused: bool) -> None:
    # As seen at load 15: calls of 100 us, half a millisecond beside each of them in the candidate's least blocks, a
    # fifth in the reference's. Where the control, the reference once more, shows as much, that is the machine.
    pairs = []
    for more in (200e-6, 190e-6, control):
        p = Pair()
        for side, gap in (("ref", 200e-6), ("cand", 600e-6), ("ctl", more)):
            p.times[side], p.gaps[side], p.outer[side] = [100e-6] * 4, [gap, 2 * gap], [100e-6 + gap] * 2
        pairs.append(p)
    timer: Any = SimpleNamespace(kind="cpu", v=SimpleNamespace(checks=Checks()))
    found = Timer._clocks(timer, Timed(pairs, 12, fresh=True, count=4))
    assert (found is not None and found.verdict == "HACK:timing") == accused
