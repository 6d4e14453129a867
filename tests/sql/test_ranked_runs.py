from __future__ import annotations

import pytest


def ids(db, arguments="", **parameters):
    return [r[0] for r in db.rows(f"select run_id from ranked_runs({arguments}) order by 1", parameters or None)]


@pytest.mark.parametrize(
    ("argument", "column", "value", "other"),
    [
        ("levels", "level", 3, 4), ("variants", "variant", "popcorn", "original"), ("suites", "suite", "x", "y"), ("sweeps", "sweep", "x", "y"),
        ("modes", "mode", "x", "y"), ("models", "model", "x", "y"), ("models", "model_raw", "x", "y"), ("backends", "backend", "x", "y"),
        ("precisions", "precision", "x", "y"), ("hardwares", "hardware", "NVIDIA H100 80GB", "A100"),
    ],
)  # fmt: skip
def test_each_filter(db, argument, column, value, other):
    db.add("runs", run_id="a", correct=True, **{column: value})
    db.add("runs", run_id="b", correct=True, **{column: other})
    db.add("runs", run_id="c", correct=False, **{column: "z" if column == "suite" else None})
    assert ids(db, f"{argument} := $v", v=[value]) == ["a"]
    assert ids(db, f"{argument} := $v", v=[value, other])[:2] == ["a", "b"]
    assert ids(db, f"{argument} := $v", v=[]) == []
    assert ids(db) == ["a", "b", "c"]


def test_the_level_itself_is_the_variant_original(db):
    db.add("runs", run_id="a", correct=True, variant=None)
    assert ids(db, "variants := ['original']") == ["a"]


def test_gpus_short_name(db):
    db.add("runs", run_id="a", correct=True, hardware="NVIDIA H100 80GB HBM3")
    assert ids(db, "hardwares := ['H100']") == ["a"]


def test_skipped_and_linked_are_no_attempts(db):
    db.add("runs", run_id="a", correct=True)
    db.add("runs", run_id="b", source_outcome="skipped")
    db.add("runs", run_id="c", correct=True)
    db.add("run_links", run_id="a", linked_run_id="c", matched_on="wall_s")
    assert ids(db) == ["a"]


def test_a_run_that_nobody_judged_is_no_attempt(db):
    db.add("runs", run_id="a", correct=False)
    db.add("runs", run_id="b", format="claude_code", suite="transcripts", submitted_kernel_sha256="k")
    db.add("tool_calls", run_id="b", tool="bash", ok=True)
    assert ids(db) == ["a"]
    assert db.rows("select run_id, left_out from ranked_runs(attempted_only := false) order by 1") == [("a", None), ("b", "not_judged")]


def test_a_transcript_linked_to_its_result_ranks_once(db):
    db.add("runs", run_id="t", format="codex")
    db.add("tool_calls", run_id="t", tool="shell", ok=True)
    db.add("runs", run_id="r", format="kernelbench_com", source_outcome="pass", correct=True)
    db.add("run_links", run_id="t", linked_run_id="r", matched_on="wall_s")
    # The transcript tells more and is the richer record, but it has no verdict: the other one ranks.
    assert ids(db) == ["r"]


@pytest.mark.parametrize(
    ("speedup", "std", "tie"),
    [(1.0, None, True), (1.019, None, True), (0.981, None, True), (1.021, None, False), (1.05, 10.0, True), (1.05, 1.0, False), (3.0, 10.0, False)],
)
def test_within_the_noise_of_its_own_timing_nothing_changed(db, speedup, std, tie):
    db.add("runs", run_id="a", source_outcome="correct", correct=True, speedup=speedup)
    if std is not None:  # 1.96 * sqrt(2 * (std/100)^2 / 10): 0.088 for 10, 0.0088 for 1
        for subject in ("candidate", "reference"):
            db.add("metrics", run_id="a", name="runtime.mean", value=100.0, subject=subject)
            db.add("metrics", run_id="a", name="runtime.std", value=std, subject=subject)
        db.add("metrics", run_id="a", name="runtime.trials", value=10.0)
    assert db.one("select near_tie from ranked_runs()") is tie


def test_what_is_wrong_is_no_tie(db):
    db.add("runs", run_id="a", source_outcome="incorrect", correct=False, speedup=1.0)
    assert db.one("select near_tie from ranked_runs()") is False


def test_a_sources_own_speedup_against_another_baseline(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True, speedup=4.0, baseline="eager")
    db.add("metrics", run_id="a", name="speedup.vs_compile", subject="ratio", value=1.5)
    assert db.one("select speedup from ranked_runs(baseline := 'compile')") == 1.5
    assert db.one("select speedup from ranked_runs(baseline := 'eager')") == 4.0
    assert db.one("select speedup from ranked_runs()") == 4.0


def test_exclude_infra(db):
    db.add("runs", run_id="a", source_outcome="incorrect")
    db.add("runs", run_id="b", source_outcome="in_progress")
    db.add("runs", run_id="c", source_outcome="timeout")
    assert ids(db, "exclude_infra := true") == ["a"]


def verified(db):
    for run_id, kernel in (("a", "k1"), ("b", "k2"), ("c", "k3")):
        db.add("runs", run_id=run_id, source_outcome="correct", correct=True, speedup=4.0, submitted_kernel_sha256=kernel)
    db.add("verifications", verification_id="1", kernel_sha256="k1", speedup=2.0, gpu_model="NVIDIA H200")
    db.add("verifications", verification_id="2", kernel_sha256="k2", speedup=3.0, gpu_model="NVIDIA H200")
    db.add("verifications", verification_id="3", kernel_sha256="k1", speedup=9.0, gpu_model="NVIDIA H100")


def test_verified_boards_take_one_gpu_model(db):
    verified(db)
    sql = "select run_id, counts_correct, speedup, withdrawn, verified_on from ranked_runs(trust := 'verified', verified_on := $g) order by 1"
    assert db.rows(sql, {"g": None}) == [
        ("a", True, 2.0, False, "NVIDIA H200"), ("b", True, 3.0, False, "NVIDIA H200"), ("c", False, None, True, None),
    ]  # fmt: skip
    assert [r[2] for r in db.rows(sql, {"g": "NVIDIA H100"})] == [9.0, None, None]


def test_reduced_confirmations_rank_on_that_precisions_board_only(db):
    db.add("runs", run_id="a", precision="fp32", source_outcome="correct", correct=True, speedup=4.0, submitted_kernel_sha256="k")
    db.add("verifications", verification_id="v", verdict="CONFIRMED_REDUCED:bf16", kind="bf16", speedup=3.0)
    sql = "select counts_correct, speedup from ranked_runs(trust := 'verified', precisions := $p)"
    assert db.rows(sql, {"p": None}) == [(False, None)]
    assert db.rows(sql, {"p": ["fp32"]}) == [(False, None)]
    assert db.rows(sql, {"p": ["bf16"]}) == [(True, 3.0)]
    assert db.rows(sql, {"p": ["bf16", "fp32"]}) == [(False, None)]


def test_baseline_fills_in_for_the_same_gpu_and_one_era(db):
    common = {"source_outcome": "correct", "correct": True, "runtime_us": 50.0}
    db.add("runs", run_id="a", hardware="NVIDIA H100 80GB", **common)
    db.add("runs", run_id="b", hardware="NVIDIA A100", **common)
    db.add("runs", run_id="c", hardware="NVIDIA H100 80GB", problem_name="2_B.py", **common)
    base = {"suite": "kb", "hardware": "H100_Modal", "baseline": "compile", "level": 1}
    db.add("baselines", problem_name="1_A.py", mean_us=150.0, **base)
    db.add("baselines", problem_name="2_B.py", mean_us=150.0, era="new", **base)
    db.add("baselines", problem_name="2_B.py", mean_us=15.0, era="old", **base)
    assert db.rows("select run_id, speedup from ranked_runs(baseline := 'compile') order by 1") == [("a", 3.0), ("b", None), ("c", None)]
    assert [r[0] for r in db.rows("select speedup from ranked_runs() order by run_id")] == [None, None, None]


def test_a_verified_board_says_why_a_run_does_not_count(db):
    verified(db)
    sql = "select run_id, reason from ranked_runs(trust := 'verified', verified_on := 'NVIDIA H100') order by 1"
    assert db.rows(sql) == [("a", None), ("b", "not_verified"), ("c", "not_verified")]


def test_hardware_whatever_its_case(db):
    db.add("runs", run_id="a", correct=True, hardware="NVIDIA H100 80GB HBM3")
    assert ids(db, "hardwares := ['h100']") == ["a"]


def test_a_baseline_takes_no_speedup_away_and_is_found_by_number(db):
    common = {"source_outcome": "correct", "correct": True, "hardware": "NVIDIA H100"}
    db.add("runs", run_id="a", speedup=4.0, baseline=None, **common)
    db.add("runs", run_id="b", runtime_us=50.0, problem_name=None, problem_id=2, **common)
    db.add("baselines", suite="kb", hardware="H100", baseline="compile", level=1, problem_name="2_B.py", mean_us=150.0)
    # A speedup against nothing named stands on a board against eager, and says nothing of torch.compile.
    assert db.rows("select run_id, speedup from ranked_runs(baseline := 'compile') order by 1") == [("a", None), ("b", 3.0)]
    assert db.rows("select run_id, speedup from ranked_runs(baseline := 'eager') order by 1") == [("a", 4.0), ("b", None)]
    assert db.findings("baseline_missing") == {}


def test_a_baseline_is_of_the_levels_own_problems_and_extraordinary_ones_do_not_count(db):
    common = {"source_outcome": "correct", "correct": True, "hardware": "NVIDIA H100", "level": 1}
    db.add("runs", run_id="a", runtime_us=10.0, problem_name="1_A.py", problem_id=1, variant="small", **common)
    db.add("runs", run_id="b", runtime_us=1.2, problem_name="1_A.py", problem_id=1, **common)
    db.add("baselines", suite="kb", hardware="H100", baseline="compile", level=1, problem_name="1_A.py", mean_us=150.0)
    sql = "select run_id, speedup from ranked_runs(baseline := 'compile', trust := '{}') order by 1"
    assert db.rows(sql.format("claimed")) == [("a", None), ("b", 125.0)]
    assert db.rows(sql.format("audited")) == [("a", None), ("b", None)]


def test_without_a_speedup_there_is_no_tie_however_wide_the_band(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True, speedup=None, runtime_us=100.0)
    db.add("metrics", run_id="a", subject="candidate", name="runtime.std", value=150.0)
    db.add("metrics", run_id="a", subject="candidate", name="runtime.mean", value=100.0)
    assert db.one("select near_tie from ranked_runs()") is False


@pytest.mark.parametrize(("lo", "hi", "tie"), [(0.9, 1.2, True), (1.02, 1.06, False)])
def test_a_measured_interval_tells_a_tie_on_the_verified_board(db, lo, hi, tie):
    db.add("runs", run_id="a", source_outcome="correct", correct=True, speedup=1.0, submitted_kernel_sha256="k")
    db.add("verifications", verification_id="1", kernel_sha256="k", speedup=1.04, speedup_lo=lo, speedup_hi=hi, claimed_speedup=1.0, verdict="CONFIRMED")
    assert db.one("select near_tie from ranked_runs(trust := 'verified')") is tie


@pytest.mark.parametrize(("speedup", "tie"), [(1.02, True), (0.98, True), (1.0201, False), (0.9799, False)])
def test_the_edge_of_the_least_band_is_a_tie(db, speedup, tie):
    """abs(1.02 - 1) is above 0.02 by a float's last bit."""
    db.add("runs", run_id="a", correct=True, speedup=speedup)
    assert db.one("select near_tie from ranked_runs()") is tie
