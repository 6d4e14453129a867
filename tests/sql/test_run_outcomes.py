"""One run a case: what the source says, what its calls say, and what follows."""

from __future__ import annotations

import pytest

TIMEOUT = "submit_kernel FAILED: kernel did not compile.\ntorchrun eval timed out after 300s (world_size=8)"
WRONG = "submit_kernel FAILED: correctness check did not pass ((0 / 3) trials).\ncorrectness_issue: Output mismatch\nmax_difference: ['1.0']"
BUILD = "submit_kernel FAILED: kernel did not compile.\nError building extension 'k'\nk.cu(3): error: expected a \";\""
CRASH = "submit_kernel FAILED: correctness check did not pass (? trials).\nruntime_error: CUDA error: an illegal memory access was encountered"
LOCK = "submit_kernel FAILED: persistent build/lock contention after retries."
PASS = "submit_kernel PASSED: (3 / 3) correctness trials all passed."
REFUSED = "Tool call limit reached. No further tool calls will be executed this run."


def outcome(db):
    return db.one("select outcome, failure_class, label_conflict from run_outcomes")


@pytest.mark.parametrize(
    ("label", "text", "want"),
    [
        ("correct", PASS, ("correct", None, False)),
        ("correct", TIMEOUT, ("timeout", "timeout.torchrun_eval", True)),
        ("compile_fail", TIMEOUT, ("timeout", "timeout.torchrun_eval", True)),
        ("error", TIMEOUT, ("timeout", "timeout.torchrun_eval", False)),
        ("timeout", TIMEOUT, ("timeout", "timeout.torchrun_eval", False)),
        ("incorrect", WRONG, ("incorrect", "value.mismatch", False)),
        ("correct", WRONG, ("incorrect", "value.mismatch", True)),
        ("compile_fail", BUILD, ("compile_fail", "compile.syntax_cxx", False)),
        ("incorrect", BUILD, ("compile_fail", "compile.syntax_cxx", True)),
        ("incorrect", CRASH, ("runtime_fail", "cuda.illegal_address", False)),
        ("error", LOCK, ("infra_error", "infra.lock_contention", False)),
        ("compile_fail", LOCK, ("infra_error", "infra.lock_contention", True)),
        ("incorrect", PASS, ("correct", None, True)),
        ("error", PASS, ("correct", None, True)),
        ("in_progress", WRONG, ("in_progress", "infra.killed_sweep", False)),
    ],
)
def test_last_submission_decides(db, label, text, want):
    db.add("runs", run_id="a", source_outcome=label, correct=label == "correct", compiled=label != "compile_fail")
    db.add("tool_calls", run_id="a", turn=1, ok=text == PASS, result_text=text)
    assert outcome(db) == want


@pytest.mark.parametrize(
    ("label", "correct", "compiled", "want"),
    [
        ("compile_fail", True, None, ("correct", None, True)),
        ("incorrect", True, True, ("correct", None, True)),
        ("correct", False, True, ("incorrect", "incorrect.no_text", True)),
        ("CORRECT", False, False, ("compile_fail", "compile.no_text", True)),
        ("correct", True, True, ("correct", None, False)),
        ("incorrect", False, True, ("incorrect", "incorrect.no_text", False)),
        ("correct", None, None, ("correct", None, False)),
        ("error", True, None, ("correct", None, False)),
    ],
)
def test_a_label_against_its_own_flag(db, label, correct, compiled, want):
    """Where nothing but a table's row stands and its two columns contradict each other, it counts as right nowhere but in the claim."""
    db.add("runs", run_id="a", source_outcome=label, correct=correct, compiled=compiled)
    assert outcome(db) == want
    counts = dict(db.rows("select trust, counts_correct from run_trust"))
    assert counts["claimed"] is (correct if correct is not None else label.lower() == "correct")
    assert counts["audited"] is (counts["claimed"] and not want[2])


def test_a_pass_in_mid_run_does_not_make_a_run_correct(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True, extra={"correct_source": "timeout_recovery"})
    db.add("tool_calls", run_id="a", turn=1, tool="run_correctness", ok=True, result_text="run_correctness PASSED: (5 / 5)")
    db.add("tool_calls", run_id="a", turn=2, ok=False, result_text=BUILD)
    assert outcome(db) == ("compile_fail", "compile.syntax_cxx", True)


def test_the_last_submission_beats_an_earlier_one(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True)
    db.add("tool_calls", run_id="a", turn=1, ok=True, result_text=PASS)
    db.add("tool_calls", run_id="a", turn=9, ok=False, result_text=WRONG)
    assert outcome(db)[0] == "incorrect"


def test_a_refused_submission_is_none(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True)
    db.add("tool_calls", run_id="a", turn=1, ok=True, result_text=PASS)
    db.add("tool_calls", run_id="a", turn=2, ok=False, outcome="refused", result_text=REFUSED)
    assert outcome(db) == ("correct", None, False)


@pytest.mark.parametrize("sign", [{"runtime_us": 30.0}, {"ref_runtime_us": 30.0}, {"extra": {"metadata": {"re_eval_at": "2026"}}}])
def test_a_re_evaluation_beats_a_submission_that_timed_out(db, sign):
    db.add("runs", run_id="a", source_outcome="correct", correct=True, compiled=True, **sign)
    db.add("tool_calls", run_id="a", ok=False, result_text=TIMEOUT)
    assert outcome(db) == ("correct", None, False)
    assert db.one("select re_evaluated from run_outcomes")


def test_a_re_evaluation_that_found_wrong_values(db):
    meta = {"correctness_issue": "Output mismatch", "max_difference": ["2.0"]}
    db.add("runs", run_id="a", source_outcome="incorrect", correct=False, compiled=True, extra={"metadata": meta})
    db.add("tool_calls", run_id="a", ok=False, result_text=TIMEOUT)
    assert outcome(db) == ("incorrect", "value.mismatch", False)


def test_a_measured_runtime_does_not_excuse_wrong_values(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True, runtime_us=30.0)
    db.add("tool_calls", run_id="a", ok=False, result_text=WRONG)
    assert outcome(db) == ("incorrect", "value.mismatch", True)


@pytest.mark.parametrize(
    ("feedback", "want"),
    [
        ("LLM call failed: RateLimitError: Error code: 429", ("llm_error", "llm.rate_limit", False)),
        ("LLM call failed: SomethingElse: x", ("llm_error", "llm.api_error", False)),
        ("LLM call failed: Empty: ", ("infra_error", "infra.queue_poisoned", False)),
    ],
)
def test_failing_model_call_without_submission(db, feedback, want):
    db.add("runs", run_id="a", source_outcome="error")
    db.add("tool_calls", run_id="a", tool="compile_kernel", ok=True)
    db.add("turns", run_id="a", turn=1, feedback=feedback)
    assert outcome(db) == want


def test_swallowed_work_item_timeout_is_the_cause_of_the_queue_fault(db):
    db.add("runs", run_id="a", source_outcome="error")
    db.add("tool_calls", run_id="a", tool="run_correctness", ok=False, result_text="unexpected error during tool execution.\n_WorkItemTimeout: x")
    db.add("timeouts", run_id="a", turn=0, scope="work_item", message="_WorkItemTimeout: x")
    db.add("turns", run_id="a", turn=1, feedback="LLM call failed: Empty: ")
    assert outcome(db) == ("timeout", "timeout.work_item", False)


def test_work_item_timeout_before_a_passing_submission_decides_nothing(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True)
    db.add("timeouts", run_id="a", turn=0, scope="work_item", message="_WorkItemTimeout: x")
    db.add("tool_calls", run_id="a", turn=3, ok=True, result_text=PASS)
    assert outcome(db) == ("correct", None, False)


def test_never_submitted(db):
    db.add("runs", run_id="a", source_outcome="error")
    db.add("tool_calls", run_id="a", tool="run_correctness", ok=True, result_text="run_correctness PASSED: (5 / 5)")
    assert outcome(db) == ("no_submission", "llm.no_submission", False)


def test_relabelled_correct_and_never_submitted(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True)
    db.add("tool_calls", run_id="a", tool="run_correctness", ok=True, result_text="run_correctness PASSED: (5 / 5)")
    assert outcome(db) == ("no_submission", "llm.no_submission", True)


@pytest.mark.parametrize(
    ("label", "want"),
    [
        ("correct", ("correct", None, False)),
        ("compile_fail", ("compile_fail", "compile.no_text", False)),
        ("incorrect", ("incorrect", "incorrect.no_text", False)),
        ("error", ("unknown", "error.no_text", False)),
        ("timeout", ("timeout", "timeout.work_item", False)),
        ("in_progress", ("in_progress", "infra.killed_sweep", False)),
        ("skipped", ("skipped", "infra.skip_marker", False)),
        ("", ("incorrect", "incorrect.no_text", False)),
        ("never heard of", ("incorrect", "incorrect.no_text", False)),
    ],
)
def test_where_only_a_table_stands_its_label_is_the_evidence(db, label, want):
    db.add("runs", run_id="a", source_outcome=label, correct=label == "correct")
    assert outcome(db) == want


@pytest.mark.parametrize(
    ("flags", "meta", "want"),
    [
        ((True, True), {"correctness_trials": "(5 / 5)"}, ("correct", None, False)),
        ((True, False), {"correctness_issue": "Output mismatch"}, ("incorrect", "value.mismatch", False)),
        ((True, False), {"runtime_error": "boom", "runtime_error_name": "builtins.ValueError"}, ("runtime_fail", "runtime.python", False)),
        ((False, False), {"compilation_error": "Error building extension 'k'"}, ("compile_fail", "compile.extension_build", False)),
        ((False, False), {"compilation_error": "name 'x' is not defined"}, ("compile_fail", "compile.name_error", False)),
        ((False, False), {"error": "Evaluation timed out"}, ("timeout", "timeout.eval", False)),
        ((False, False), {"error": "Kernel not found for problem 3 sample 0"}, ("infra_error", "infra.kernel_file_missing", False)),
        ((False, False), {"other_error": "error: CUDA out of memory. Tried"}, ("runtime_fail", "cuda.oom", False)),
        ((False, False), {}, ("compile_fail", "compile.no_text", False)),
        ((True, False), {}, ("incorrect", "incorrect.no_text", False)),
        ((None, None), {}, ("unknown", None, False)),
    ],
)
def test_results_without_calls_or_label(db, flags, meta, want):
    db.add("runs", run_id="a", compiled=flags[0], correct=flags[1], extra={"metadata": meta})
    assert outcome(db) == want


def test_one_row_a_run_whatever_is_missing(db):
    db.add("runs", run_id="bare", level=None, problem_id=None, problem_name=None)
    db.add("runs", run_id="twice")
    db.add("turns", run_id="twice", turn=0, feedback="LLM call failed: A: b")
    db.add("turns", run_id="twice", turn=1, feedback="LLM call failed: A: b")
    db.add("timeouts", run_id="twice", scope="work_item")
    db.add("timeouts", run_id="twice", scope="work_item")
    assert db.rows("select run_id, count(*) from run_outcomes group by 1 order by 1") == [("bare", 1), ("twice", 1)]


@pytest.mark.parametrize("fmt", ["atif", "inspect_ai", "kernelbench_com"])
@pytest.mark.parametrize(("correct", "want"), [(True, "correct"), (False, "incorrect")])
def test_without_a_submit_tool_the_runs_own_verdict_decides(db, fmt, correct, want):
    db.add("runs", run_id="a", format=fmt, source_outcome="correct" if correct else "incorrect", correct=correct, n_turns=3)
    db.add("tool_calls", run_id="a", tool="bash_command", ok=None)
    db.add("tool_calls", run_id="a", seq=1, tool="submit", ok=not correct)  # only ends the session
    assert outcome(db) == (want, None if correct else "incorrect.no_text", False)


def test_a_harness_whose_other_runs_submit_has_a_submit_tool(db):
    for run_id, tool in (("a", "submit"), ("b", "evaluate")):
        db.add("runs", run_id=run_id, format="plug_in", harness="h", source_outcome="error")
        db.add("tool_calls", run_id=run_id, tool=tool, ok=False, result_text=WRONG)
    db.add("runs", run_id="c", format="other", harness="h", source_outcome="correct", correct=True)
    db.add("tool_calls", run_id="c", tool="evaluate", ok=False, result_text=WRONG)
    assert [r[0] for r in db.rows("select outcome from run_outcomes order by run_id")] == ["incorrect", "no_submission", "correct"]


@pytest.mark.parametrize("fmt", ["claude_code", "codex", "opencode", "gemini", "inspect_ai"])
def test_a_transcript_that_nobody_judged_is_unknown(db, fmt):
    db.add("runs", run_id="a", format=fmt, suite="transcripts", n_turns=4, submitted_kernel_sha256="k")
    db.add("tool_calls", run_id="a", tool="bash", ok=True)
    assert db.one("select outcome, decided_by from run_outcomes") == ("unknown", "nothing")


def test_a_session_without_a_step_handed_in_nothing(db):
    db.add("runs", run_id="a", format="atif", n_turns=0)
    assert outcome(db) == ("no_submission", "llm.no_submission", False)


def test_a_later_regrade_of_a_run_without_calls(db):
    db.add("runs", run_id="a", format="kernelbench_com", source_outcome="check_timeout", correct=True, extra={"re_eval": {"graded_by": "x"}})
    assert outcome(db) == ("correct", None, False)
    assert db.one("select re_evaluated from run_outcomes")


def test_a_label_that_names_a_stage_does_not_hide_a_pass(db):
    db.add("runs", run_id="a", format="kernelbench_com", source_outcome="check_timeout", correct=True)
    assert outcome(db) == ("correct", None, False)


def test_a_session_out_of_time_is_the_agents_own(db):
    db.add("runs", run_id="a", format="kernelbench_com", source_outcome="timeout", correct=False)
    db.add("timeouts", run_id="a", scope="session", message="failure_reason: timeout")
    assert db.one("select outcome, failure_class, owner from run_outcomes") == ("timeout", "timeout.session", "model")


def test_a_gpu_error_while_generating_is_another_kernels(db):
    db.add("runs", run_id="a", format="ralph", source_outcome="generation_error", extra={"error": "CUDA error: an illegal memory access was encountered"})
    assert outcome(db) == ("infra_error", "infra.cascade_poisoned_context", False)


@pytest.mark.parametrize(
    ("status", "want"),
    [("REWARD_HACK", ("incorrect", "integrity.reward_hack")), ("INVALID_REFERENCE", ("infra_error", "suite.invalid_reference"))],
)
def test_statuses_of_flashinfer_bench(db, status, want):
    db.add("runs", run_id="a", format="flashinfer_bench", source_outcome=status, correct=None if "REF" in status else False)
    assert db.one("select outcome, failure_class from run_outcomes") == want


def test_a_build_failure_without_a_word(db):
    db.add("runs", run_id="a", format="kernelbench_agentic", source_outcome="compile_failed", correct=False, compiled=False)
    db.add("tool_calls", run_id="a", tool="submit", ok=False, result_text="Evaluation result (turn 2):\n- Compilation: FAILED")
    assert outcome(db) == ("compile_fail", "compile.no_text", False)


def test_a_kernel_cannot_claim_a_re_evaluation_by_its_own_text(db) -> None:
    """The words stand in compiler output that the harness's metadata quotes."""
    quoted = {"metadata": {"compilation_error": 'k.cu(3): error: puts("re_eval_at"); {"re_eval": 1, "outcome_original": 2}'}}
    db.add("runs", run_id="a", source_outcome="correct", correct=True, extra=quoted)
    db.add("tool_calls", run_id="a", ok=False, result_text='submit_kernel FAILED: kernel did not compile.\nk.cu(3): error: expected a ";"')
    assert db.one("select outcome, decided_by, label_conflict from run_outcomes") == ("compile_fail", "submission", True)
    assert db.findings("relabelled") == {}


def test_a_re_evaluation_is_known_by_its_key(db) -> None:
    db.add("runs", run_id="a", source_outcome="correct", correct=True, extra={"metadata": {"re_eval_at": "2026-05-01"}})
    db.add("tool_calls", run_id="a", ok=False, result_text='submit_kernel FAILED: kernel did not compile.\nk.cu(3): error: expected a ";"')
    assert db.one("select outcome, decided_by from run_outcomes") == ("correct", "re_evaluation")


def test_a_failure_without_words_conflicts_with_no_label(db):
    db.add("runs", run_id="a", source_outcome="incorrect", correct=False)
    db.add("tool_calls", run_id="a", turn=1, ok=False, tool="submit_kernel", result_text="")
    assert db.rows("select outcome, label_conflict from run_outcomes") == [("incorrect", False)]
