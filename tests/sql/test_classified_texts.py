from __future__ import annotations


def test_first_rule_wins_over_all_fields_and_says_its_words(db):
    text = "submit_kernel FAILED: kernel did not compile.\ntorchrun eval timed out after 300s (world_size=8)"
    db.add("tool_calls", run_id="a", ok=False, result_text=text)
    cls, owner, outcome, evidence = db.one("select failure_class, owner, outcome, evidence from classified_texts")
    assert (cls, owner, outcome) == ("timeout.torchrun_eval", "harness", "timeout")
    assert evidence == "torchrun eval timed out after 300s (world_size=8)"


def test_a_code_beats_a_later_text_rule(db):
    db.add("tool_calls", run_id="a", ok=False, result_text="Output mismatch", metadata={"error": "eval_rpc_timeout"})
    assert db.one("select failure_class from classified_texts") == "infra.eval_rpc_timeout"


def test_long_lines_are_cut_around_the_words(db):
    db.add("tool_calls", run_id="a", ok=False, result_text="x" * 3000 + " _WorkItemTimeout: budget " + "y" * 3000)
    evidence = db.one("select evidence from classified_texts")
    assert len(evidence) <= 400
    assert "_WorkItemTimeout" in evidence


def test_one_row_a_text_whatever_matches(db):
    for i in range(3):
        db.add("tool_calls", run_id="a", seq=i, ok=False, result_text="Output mismatch\nCUDA error: invalid argument\nNo space left on device")
    assert db.rows("select seq, failure_class from classified_texts order by seq") == [(i, "infra.disk_full") for i in range(3)]
