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
