"""Edges of how a run ended, each found by breaking the model one token at a time (benchmarks/mutate.py)."""

from __future__ import annotations

import pytest


def outcome(db, columns="outcome"):
    return db.one(f"select {columns} from run_outcomes where run_id = 'a'")


@pytest.mark.parametrize("label", ["correct", "pass", "passed", "success", "PASS", "Success"])
def test_words_for_a_pass(db, label):
    db.add("runs", run_id="a", format="table", harness="other", source_outcome=label)
    assert outcome(db, "outcome, label_outcome") == ("correct", "correct")


@pytest.mark.parametrize(("compiled", "want"), [(False, "compile_fail"), (True, "incorrect"), (None, "compile_fail")])
def test_a_re_evaluation_without_words_is_told_by_its_flags(db, compiled, want):
    db.add("runs", run_id="a", correct=False, compiled=compiled, extra={"re_eval": {"n": 1}})
    db.add("tool_calls", run_id="a", ok=True, result_text="PASSED")
    assert outcome(db, "decided_by, outcome") == ("re_evaluation", want)


def test_a_failing_model_call_brings_its_words(db):
    db.add("runs", run_id="a", n_turns=1)
    db.add("turns", run_id="a", turn=0, feedback="LLM call failed: ConnectionError")
    decided, evidence = outcome(db, "decided_by, evidence")
    assert decided == "feedback"
    assert "LLM call failed" in evidence


@pytest.mark.parametrize(("correct", "ok", "conflict"), [(False, True, True), (True, False, True), (True, True, False), (False, False, False)])
def test_a_flag_alone_can_conflict(db, correct, ok, conflict):
    db.add("runs", run_id="a", source_outcome=None, correct=correct)
    db.add("tool_calls", run_id="a", ok=ok, result_text="Output mismatch")
    assert outcome(db, "label_conflict") is conflict


def test_what_no_rule_names_conflicts_with_no_failure(db):
    db.add("runs", run_id="a", source_outcome="compile_fail", correct=False)
    db.add("tool_calls", run_id="a", ok=False, result_text="something that no rule has words for")
    assert outcome(db, "outcome, failure_class, label_conflict") == ("compile_fail", "unclassified", False)


def test_a_submission_that_no_rule_names_ends_as_its_label_says(db):
    for run_id, label in (("a", "compile_fail"), ("b", "correct"), ("c", None)):
        db.add("runs", run_id=run_id, source_outcome=label, sample_id=ord(run_id))
        db.add("tool_calls", run_id=run_id, ok=False, result_text="words that no rule knows")
    rows = db.rows("select run_id, outcome, failure_class from run_outcomes order by run_id")
    assert rows == [("a", "compile_fail", "unclassified"), ("b", "unknown", "unclassified"), ("c", "unknown", "unclassified")]


def test_words_that_are_kept_and_no_rule_knows_are_unclassified(db):
    """Not `text not kept`: the text is there, ready to become a rule."""
    kept = [
        ("a", {"compilation_error": "quux frobnicated the widget"}, False),
        ("b", {"correctness_issue": "the moon is wrong"}, True),
        ("c", {"correctness_trials": "(0 / 5)"}, True),
        ("d", {}, False),
    ]
    for run_id, metadata, compiled in kept:
        db.add("runs", run_id=run_id, format="kernelbench", sample_id=ord(run_id), compiled=compiled, correct=False, extra={"metadata": metadata})
    rows = db.rows("select run_id, outcome, failure_class, evidence from run_outcomes order by run_id")
    assert rows == [
        ("a", "compile_fail", "unclassified", "compilation_error: quux frobnicated the widget"),
        ("b", "incorrect", "unclassified", "correctness_issue: the moon is wrong"),
        ("c", "incorrect", "incorrect.no_text", None),
        ("d", "compile_fail", "compile.no_text", None),
    ]
    from kbstats.analytics import failures

    assert [r["text"] for r in failures.unclassified(db.fresh())] == [
        "compilation_error: quux frobnicated the widget", "correctness_issue: the moon is wrong",
    ]  # fmt: skip
