"""Pairs, wins, ties and losses counted by hand; the sign test against its binomial sum."""

from __future__ import annotations

import math

import pytest
from kbstats.analytics import compare
from kbstats.analytics import leaderboards as lb
from kbstats.ingest.errors import UsageError


def add(db, model, problem, speedup, *, correct=True, **more):
    db.add("runs", **{"run_id": f"{model}{problem}{len(more)}", "model": model, "problem_id": problem, "problem_name": f"{problem}.py",
           "source_outcome": "correct" if correct else "incorrect", "correct": correct, "speedup": speedup} | more)  # fmt: skip


@pytest.fixture
def two(db):
    for problem, a, b in ((1, 4.0, 2.0), (2, 2.0, 2.02), (3, 1.0, 3.0), (4, None, None), (5, 2.0, "wrong"), (6, "wrong", "wrong"), (7, "wrong", 2.0)):
        add(db, "A", problem, None if a == "wrong" else a, correct=a != "wrong")
        add(db, "B", problem, None if b == "wrong" else b, correct=b != "wrong", level=1)
    add(db, "A", 8, 9.0)
    add(db, "B", 9, 9.0)
    return db


def test_counts_and_ratio(two):
    f = compare.compare(two.fresh(), "A", "B", lb.Filters())
    assert (f["pairs"], f["wins"], f["ties"], f["losses"]) == (7, 2, 3, 2)
    assert f["n_ratio"] == 3
    assert f["ratio"] == pytest.approx((2 * (2 / 2.02) * (1 / 3)) ** (1 / 3))
    assert f["ratio_lo"] <= f["ratio"] <= f["ratio_hi"]
    assert [r["problem_name"] for r in f["only_a"]] == ["8.py"]
    assert [r["problem_name"] for r in f["only_b"]] == ["9.py"]
    assert {c["class"]: (c["a_lost"], c["b_lost"]) for c in f["by_class"]} == {"incorrect.no_text": (1, 1), "slower": (1, 1)}
    assert [(v["level"], v["wins"], v["losses"]) for v in f["by_level"]] == [(1, 2, 2)]


def test_the_other_way_round_is_the_mirror(two):
    con = two.fresh()
    f, g = (compare.compare(con, *names, lb.Filters()) for names in (("A", "B"), ("B", "A")))
    assert (f["wins"], f["ties"], f["losses"]) == (g["losses"], g["ties"], g["wins"])
    assert f["ratio"] == pytest.approx(1 / g["ratio"])
    assert f["p_value"] == g["p_value"]


def test_a_model_is_not_compared_with_its_own_other_name(db):
    """`raw-1` and `raw-2` are deployments listed as one model: with each other they compare, with it they do not."""
    for i, raw in enumerate(("raw-1", "raw-2")):
        for problem in (1, 2):
            add(db, "M", problem, 2.0 + i, model_raw=raw, run_id=f"{raw}{problem}")
    con = db.fresh()
    for a, b in (("M", "raw-1"), ("raw-2", "M")):
        with pytest.raises(UsageError, match="names of the same model"):
            compare.compare(con, a, b, lb.Filters())
    found = compare.compare(con, "raw-1", "raw-2", lb.Filters())
    assert (found["pairs"], found["losses"], found["ratio"]) == (2, 2, pytest.approx(2 / 3))


@pytest.mark.parametrize(("wins", "losses"), [(7, 1), (3, 3), (10, 0), (2, 5)])
def test_sign_test_against_the_binomial_sum(wins, losses):
    n = wins + losses
    chances = [math.comb(n, i) / 2**n for i in range(n + 1)]
    assert compare.sign_test(wins, losses) == pytest.approx(sum(c for c in chances if c <= chances[wins] * (1 + 1e-9)))
    assert compare.sign_test(0, 0) is None


def test_samples_pair_with_their_own_and_gpus_stay_apart(db):
    for sample, a, b in ((0, 2.0, 1.0), (1, 1.0, 2.0)):
        add(db, "A", 1, a, sample_id=sample, run_id=f"A{sample}")
        add(db, "B", 1, b, sample_id=sample, run_id=f"B{sample}")
    add(db, "A", 2, 2.0, hardware="H100")
    add(db, "B", 2, 1.0, hardware="H200")
    f = compare.compare(db.fresh(), "A", "B", lb.Filters())
    assert (f["pairs"], f["wins"], f["losses"]) == (2, 1, 1)


def test_precisions_stay_apart_and_an_unnamed_one_is_fp32(db):
    add(db, "A", 1, 2.0, precision="fp16")
    add(db, "B", 1, 1.0, precision="fp32")
    add(db, "A", 2, 2.0, precision=None)
    add(db, "B", 2, 1.0, precision="FP32")
    f = compare.compare(db.fresh(), "A", "B", lb.Filters())
    assert (f["pairs"], f["wins"]) == (1, 1)
    assert [(r["problem_id"], r["differ_in"]) for r in f["unpaired"]] == [(1, ["precision"])]


def test_modes_and_sweeps_of_one_model(db):
    for mode, sweep, speedup in (("all", "s1", 3.0), ("single", "s2", 1.5)):
        add(db, "A", 1, speedup, mode=mode, sweep=sweep, run_id=mode)
    con = db.fresh()
    assert compare.compare(con, "all", "single", lb.Filters(), side="mode")["wins"] == 1
    assert compare.compare(con, "s2", "s1", lb.Filters(), side="sweep")["losses"] == 1


def test_trust_decides_what_counts(db):
    add(db, "A", 1, 5000.0)
    add(db, "B", 1, 2.0)
    con = db.fresh()
    assert compare.compare(con, "A", "B", lb.Filters())["wins"] == 1
    assert compare.compare(con, "A", "B", lb.Filters(trust="audited"))["ties"] == 1


def test_wrong_names(two):
    con = two.fresh()
    for names in (("A", "A"), ("A", "nobody"), ("nobody", "A")):
        with pytest.raises(UsageError):
            compare.compare(con, *names, lb.Filters())


def test_no_shared_problem_is_no_error(db):
    add(db, "A", 1, 2.0)
    add(db, "B", 2, 2.0)
    f = compare.compare(db.fresh(), "A", "B", lb.Filters())
    assert (f["pairs"], f["p_value"], f["ratio"], len(f["only_a"])) == (0, None, None, 1)


def test_what_both_ran_and_nothing_pairs_is_said(db):
    """The problem does not vanish: it says which circumstance keeps the two apart."""
    add(db, "A", 1, 2.0, hardware="H100")
    add(db, "B", 1, 3.0, hardware="NVIDIA A100")
    add(db, "A", 2, 2.0, mode="all")
    add(db, "B", 2, 2.0, mode="single")
    add(db, "A", 3, 2.0)
    add(db, "B", 3, 2.0, sample_id=0)
    f = compare.compare(db.fresh(), "A", "B", lb.Filters())
    assert (f["pairs"], f["only_a"], f["only_b"]) == (1, [], [])
    assert [(r["problem_id"], r["differ_in"]) for r in f["unpaired"]] == [(1, ["GPU model"]), (2, ["mode"])]


def test_a_name_that_reads_like_another_field_pairs_with_nothing(db):
    """A mode of one run and a GPU of another are two circumstances, even where they are spelled alike."""
    add(db, "A", 1, 2.0, mode="H100")
    add(db, "B", 1, 3.0, hardware="H100")
    assert compare.compare(db.fresh(), "A", "B", lb.Filters())["pairs"] == 0


@pytest.mark.parametrize("side", compare.SIDES)
def test_a_filter_of_what_is_compared_is_refused(two, side):
    with pytest.raises(UsageError, match="the two names say which"):
        compare.compare(two.fresh(), "A", "B", lb.Filters(**{f"{side}s": ["C"]}), side=side)


def test_another_baseline_and_unknown_ones(two):
    for filters in (lb.Filters(baseline="nope"), lb.Filters(verified_on="nope", trust="verified")):
        with pytest.raises(UsageError, match="nope"):
            compare.compare(two.fresh(), "A", "B", filters)


def test_what_keeps_two_sides_apart_is_what_varies(db):
    """Modes and GPUs both agree somewhere, their combinations nowhere."""
    for i, (model, mode, gpu) in enumerate([("A", "all", "H100"), ("A", "single", "H200"), ("B", "all", "H200"), ("B", "single", "H100")]):
        db.add("runs", run_id=f"r{i}", model=model, mode=mode, hardware=gpu, correct=True, speedup=2.0, source_outcome="correct")
    (row,) = compare.compare(db.fresh(), "A", "B", lb.Filters())["unpaired"]
    assert row["differ_in"] == ["mode", "GPU model"]


def test_one_runs_speedup_is_shown_to_the_last_bit():
    assert compare.stats.geomean([5.0]) == 5.0
    assert compare.stats.geomean([2.0, 8.0]) == pytest.approx(4.0)
