"""Each audit on rows that it must name and on rows at its threshold that it must not."""

from __future__ import annotations

import pytest


def metric(db, run_id, name, value, **more):
    db.add("metrics", run_id=run_id, name=name, value=value, **more)


@pytest.mark.parametrize(
    ("code", "name", "over", "at"),
    [
        ("occupancy_over_100", "occupancy", 100.1, 100.0),
        ("utilization_over_100", "dram.utilization", 102.0, 101.0),
        ("utilization_over_100", "compute.utilization", 102.0, 101.0),
        ("hit_rate_over_100", "l2.hit_rate", 102.0, 101.0),
        ("power_over_board", "power.mean", 1501.0, 1500.0),
    ],
)
def test_over_a_limit(db, code, name, over, at):
    metric(db, "bad", name, over)
    metric(db, "bad", name, over + 1, subject="reference")
    metric(db, "good", name, at)
    assert db.findings(code) == {"bad": over + 1}  # one finding a run


def test_warp_stalls(db):
    metric(db, "bad", "warp_stall.long_scoreboard", 270.0, unit="pct")
    metric(db, "good", "warp_stall.long_scoreboard", 99.0, unit="pct")
    assert db.findings("warp_stall_over_100") == {"bad": 270.0}


def test_bandwidth(db):
    for run_id, value in (("bad", 4000.0), ("good", 3300.0)):
        metric(db, run_id, "dram.bandwidth", value)
        metric(db, run_id, "peak.bandwidth", 3350.0)
    metric(db, "no_peak", "dram.bandwidth", 9000.0)
    assert db.findings("bandwidth_over_peak") == {"bad": 4000.0}


def test_heuristic_sol(db):
    metric(db, "bad", "sol.score", 1.0, source="heuristic")
    metric(db, "good", "sol.score", 1.0, source="nsight")
    assert db.findings("heuristic_sol") == {"bad": 1.0}


def test_std_over_mean(db):
    for run_id, std in (("bad", 30.0), ("good", 10.0)):
        metric(db, run_id, "runtime.mean", 20.0)
        metric(db, run_id, "runtime.std", std)
    assert db.findings("std_over_mean") == {"bad": 1.5}


def test_too_few_trials(db):
    metric(db, "bad", "runtime.trials", 3.0)
    metric(db, "good", "runtime.trials", 10.0)
    assert db.findings("too_few_trials") == {"bad": 3.0}


def test_error_absurd(db):
    for run_id, value, correct in (("bad", 12.0, True), ("good", 0.01, True), ("wrong", 12.0, False)):
        db.add("runs", run_id=run_id, correct=correct)
        metric(db, run_id, "error.max_abs", value)
    assert db.findings("error_absurd") == {"bad": 12.0}


def test_speedups(db):
    for run_id, speedup in (("a", 10.0), ("b", 10.1), ("c", 100.0), ("d", 100.1), ("e", 973_614.0), ("f", None)):
        db.add("runs", run_id=run_id, speedup=speedup, submitted_kernel_sha256=run_id, sample_id=ord(run_id))
    assert db.findings("speedup_extraordinary") == {"d": 100.1, "e": 973_614.0}
    assert set(db.findings("speedup_over_10")) == {"b", "c", "d", "e"}


@pytest.mark.parametrize(("verdict", "stands"), [("CONFIRMED", False), ("CONFIRMED_REDUCED:bf16", True), ("INCONCLUSIVE", True)])
def test_an_extraordinary_speedup_can_be_confirmed(db, verdict, stands):
    db.add("runs", run_id="a", speedup=200.0, submitted_kernel_sha256="k")
    db.add("verifications", verification_id="v", verdict=verdict, speedup=201.0, claimed_speedup=200.0)
    assert bool(db.findings("speedup_extraordinary")) is stands


def test_runtime_below_1us(db):
    db.add("runs", run_id="bad", runtime_us=0.4)
    db.add("runs", run_id="good", runtime_us=1.0)
    assert db.findings("runtime_below_1us") == {"bad": 0.4}


def test_correct_without_timing(db):
    db.add("runs", run_id="bad", correct=True)
    db.add("runs", run_id="timed", correct=True, runtime_us=3.0)
    db.add("runs", run_id="table", correct=True, speedup=3.0)
    db.add("runs", run_id="wrong", correct=False)
    assert set(db.findings("correct_without_timing")) == {"bad"}


def test_labels_against_evidence(db):
    late = "torchrun eval timed out after 300s"
    for run_id, label, text in (("a", "correct", late), ("b", "compile_fail", late), ("c", "incorrect", "Output mismatch"), ("d", "correct", None)):
        db.add("runs", run_id=run_id, source_outcome=label, correct=label == "correct", compiled=label != "compile_fail")
        db.add("tool_calls", run_id=run_id, ok=text is None, result_text=text)
    assert set(db.findings("label_conflict")) == {"a", "b"}
    assert set(db.findings("last_submission_failed")) == {"a"}
    assert set(db.findings("hidden_timeout")) == {"b"}


def test_re_evaluated(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True, runtime_us=20.0)
    db.add("tool_calls", run_id="a", ok=False, result_text="torchrun eval timed out after 300s")
    assert set(db.findings("re_evaluated")) == {"a"}


@pytest.mark.parametrize(
    ("extra", "stands"),
    [
        ({"outcome_original": "compile_fail"}, True), ({"correct_source": "timeout_recovery"}, True), ({"timeout_recovered": "True"}, True),
        ({"timeout_recovered": "False"}, False), ({"other": 1}, False), (None, False),
    ],
)  # fmt: skip
def test_relabelled(db, extra, stands):
    db.add("runs", run_id="a", source_outcome="correct", extra=extra)
    assert bool(db.findings("relabelled")) is stands


@pytest.mark.parametrize(
    ("speedup", "runtime", "reference", "stands"),
    [
        (3.0, 10.0, 30.0, False),
        (2.28, 10.0, 30.0, False),  # 0.01 and 0.03 ms: anything from 1.7 to 7 rounds to these
        (9.0, 10.0, 30.0, True),
        (2.0, 123.0, 246.0, False),
        (2.02, 123.0, 246.0, False),
        (2.2, 123.0, 246.0, True),
        (4.62, 20.0, 80.0, False),
        (0.09, 4970.0, 450.0, False),
        (0.5, 4970.0, 450.0, True),
        (1000.0, 5.0, 5000.0, False),
    ],
)
def test_speedup_disagrees(db, speedup, runtime, reference, stands):
    db.add("runs", run_id="a", speedup=speedup, runtime_us=runtime, ref_runtime_us=reference)
    assert bool(db.findings("speedup_disagrees")) is stands


def test_refuted(db):
    db.add("runs", run_id="a", submitted_kernel_sha256="k1", hardware="H200", speedup=3.0)
    db.add("runs", run_id="b", submitted_kernel_sha256="k2", hardware="H200", speedup=3.0)
    db.add("runs", run_id="c", submitted_kernel_sha256="k3", hardware="H200", reference_sha256="x")
    db.add("verifications", verification_id="1", kernel_sha256="k1", verdict="INCORRECT:shape", witness={"shape": [13, 64]})
    db.add("verifications", verification_id="2", kernel_sha256="k2", verdict="SLOWER_THAN_CLAIMED", speedup=1.5, claimed_speedup=3.0)
    db.add("verifications", verification_id="3", kernel_sha256="k3", reference_sha256="y")
    assert set(db.findings("refuted")) == {"a"}
    assert db.findings("refuted_speed") == {"b": 1.5}
    assert set(db.findings("reference_differs")) == {"c"}


def test_twin_run(db):
    twin = {"wall_s": 1.25, "total_tokens": 10, "n_turns": 2, "speedup": 2.0}
    db.add("runs", run_id="a", sweep="x", **twin)
    db.add("runs", run_id="b", sweep="y", **twin)
    db.add("runs", run_id="c", sweep="y", **(twin | {"wall_s": 1.26}))
    db.add("runs", run_id="d", sweep="y", **(twin | {"wall_s": None}))
    assert db.findings("twin_run") == {"b": 2.0}


def test_of_twins_the_one_in_a_richer_record_is_kept(db):
    """The trace ranks for its row; the row's twin under another sweep does not rank beside it."""
    twin = {"wall_s": 1.25, "total_tokens": 10, "n_turns": 2, "speedup": 2.0, "correct": True, "source_outcome": "correct", "model": "m"}
    db.add("runs", run_id="a", sweep="y", format="table", **twin)
    db.add("runs", run_id="b", sweep="x", format="table", **twin)
    db.add("runs", run_id="trace", sweep="x", **twin)
    db.add("run_links", run_id="trace", linked_run_id="b", matched_on="speedup")
    assert db.findings("twin_run") == {"a": 2.0}
    assert db.rows("select run_id from ranked_runs(trust := 'audited') where counts_correct") == [("trace",)]


def test_runs_that_never_began_are_no_twins(db):
    for run_id in "ab":
        db.add("runs", run_id=run_id, model=run_id, wall_s=0.0, total_tokens=0, n_turns=0)
    assert db.findings("twin_run") == {}


def test_two_records_of_one_run_are_no_contamination(db):
    db.add("kernels", kernel_sha256="long", n_lines=40)
    db.add("runs", run_id="trace", model="gpt-9", submitted_kernel_sha256="long", correct=True)
    db.add("runs", run_id="page", model="gpt-9-priority", submitted_kernel_sha256="long", correct=True)
    assert set(db.findings("same_kernel_other_model")) == {"trace", "page"}
    db.add("run_links", run_id="trace", linked_run_id="page", matched_on="n_turns")
    assert db.findings("same_kernel_other_model") == {}


def test_numbers_beyond_all_runs_stay_short_and_never_stop_an_audit(db):
    """Each table's number at its extremes: a message of a line, and no error that would stop the whole view."""
    names = [
        "occupancy", "sol.score", "roofline.fraction", "dram.bandwidth", "power.mean", "energy.per_run", "dram.utilization", "l2.hit_rate", "warp_stall.x",
        "runtime.mean", "runtime.std", "runtime.trials", "error.max_abs", "error.max_rel", "cuda_time.total", "kernels.launched", "speedup.vs_compile",
    ]  # fmt: skip
    for i, value in enumerate((1e308, -1e308, 5e-324, 0.0, -1.0)):
        db.add("runs", run_id=f"r{i}", speedup=value, runtime_us=value, ref_runtime_us=1.0, wall_s=value, correct=True, sample_id=i)
        db.add("turns", run_id=f"r{i}", llm_s=value, tools_s=1e308)
        for name in names:
            for subject in ("candidate", "reference"):
                metric(db, f"r{i}", name, value, subject=subject, unit="pct")
    for code, message in db.rows("select code, message from audit_findings"):
        assert message, code
        assert len(message) < 160, code
    assert db.rows("select max(speedup) from ranked_runs() where isinf(speedup)") == [(None,)]


def test_same_kernel_other_model(db):
    db.add("kernels", kernel_sha256="long", n_lines=40)
    db.add("kernels", kernel_sha256="short", n_lines=4)
    for run_id, model, kernel in (("a", "A", "long"), ("b", "B", "long"), ("c", "A", "short"), ("d", "B", "short"), ("e", "A", "long")):
        db.add("runs", run_id=run_id, model=model, submitted_kernel_sha256=kernel)
    assert set(db.findings("same_kernel_other_model")) == {"a", "b", "e"}


def test_kernel_is_reference(db):
    db.add("problems", source_id="s", suite="kb", source_sha256="ref")
    db.add("runs", run_id="bad", submitted_kernel_sha256="ref")
    db.add("runs", run_id="good", submitted_kernel_sha256="k")
    assert set(db.findings("kernel_is_reference")) == {"bad"}


def test_wall_below_turns(db):
    for run_id, wall in (("bad", 100.0), ("good", 210.0)):
        db.add("runs", run_id=run_id, wall_s=wall)
        db.add("turns", run_id=run_id, turn=0, llm_s=90.0, tools_s=10.0, wall_s=9000.0)
        db.add("turns", run_id=run_id, turn=1, wall_s=100.0)
    assert db.findings("wall_below_turns") == {"bad": 100.0}


def test_time_travel(db):
    start = "2026-01-01 00:00:00+00"
    db.add("runs", run_id="back", started_at=start, finished_at="2025-12-31 00:00:00+00")
    db.add("runs", run_id="long", started_at=start, finished_at="2026-01-01 00:10:00+00", wall_s=3000.0)
    db.add("runs", run_id="good", started_at=start, finished_at="2026-01-01 00:10:00+00", wall_s=600.0)
    assert set(db.findings("time_travel")) == {"back", "long"}


def test_truncated_log(db):
    db.add("runs", run_id="bad", truncated=True)
    db.add("runs", run_id="good", truncated=False)
    assert set(db.findings("truncated_log")) == {"bad"}


def test_runtime_against_cuda_time(db):
    for run_id, runtime in (("bad", 10.0), ("good", 60.0)):
        db.add("runs", run_id=run_id, runtime_us=runtime)
        metric(db, run_id, "cuda_time.total", 80.0)
    assert db.findings("runtime_against_cuda_time") == {"bad": 10.0}


def test_messages_are_sentences_a_person_reads(db):
    db.add("runs", run_id="a", speedup=5000.0, correct=True, truncated=True, runtime_us=0.2, ref_runtime_us=1.0)
    metric(db, "a", "occupancy", 573.4)
    for code, message in db.rows("select code, message from audit_findings"):
        assert message, code
        assert "%" not in message or " %" in message
        assert not message.endswith(".")


def test_what_ended_differently_is_no_twin(db):
    """Rounded walls and fixed budgets make unlike runs alike in every figure."""
    same = {"wall_s": 60.0, "total_tokens": 4000, "n_turns": 1, "hardware": "NVIDIA H100"}
    for run_id, label in (("a", "correct"), ("b", "compile_fail"), ("c", "incorrect"), ("d", "timeout")):
        db.add("runs", run_id=run_id, model=run_id, source_outcome=label, correct=label == "correct", **same)
    db.add("runs", run_id="e", model="e", source_outcome="correct", correct=True, **same | {"hardware": "NVIDIA H200"})
    assert db.findings("twin_run") == {}
    db.add("runs", run_id="f", model="f", source_outcome="CORRECT", correct=True, **same | {"hardware": "H100_Modal"})
    assert db.findings("twin_run") == {"f": 2.0}


def test_a_speedup_of_a_run_that_is_not_right_claims_nothing(db):
    for run_id, correct in (("a", True), ("b", False), ("c", None)):
        db.add("runs", run_id=run_id, correct=correct, speedup=500.0)
    assert set(db.findings("speedup_extraordinary")) == set(db.findings("speedup_over_10")) == {"a", "c"}


@pytest.mark.parametrize("label", ["compile_fail", "compile_failed", "COMPILE_ERROR"])
def test_a_hidden_timeout_by_any_word_for_a_failed_build(db, label):
    db.add("runs", run_id="a", source_outcome=label, correct=False, compiled=False)
    db.add("tool_calls", run_id="a", ok=False, outcome="failed",
           result_text="submit_kernel FAILED: kernel did not compile.\ntorchrun eval timed out after 300s (world_size=8)")  # fmt: skip
    assert db.one("select label_outcome, outcome from run_outcomes") == ("compile_fail", "timeout")
    assert set(db.findings("hidden_timeout")) == {"a"}
