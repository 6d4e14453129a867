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
    db.add("tool_calls", run_id="a", ok=False, result_text="run_correctness FAILED: unexpected error during tool execution. _WorkItemTimeout: budget " + "y" * 3000)
    evidence = db.one("select evidence from classified_texts")
    assert len(evidence) <= 400
    assert "_WorkItemTimeout" in evidence


def test_one_row_a_text_whatever_matches(db):
    for i in range(3):
        db.add("tool_calls", run_id="a", seq=i, ok=False, result_text="run_correctness FAILED: No space left on device\nOutput mismatch\nCUDA error: invalid argument")
    assert db.rows("select seq, failure_class from classified_texts order by seq") == [(i, "infra.disk_full") for i in range(3)]


def test_offsets_point_at_the_deciding_words(db):
    texts = ["submit_kernel FAILED: kernel did not compile.\ntorchrun eval timed out after 300s (world_size=8)", "did not compile\nnote: error\nk.cpp:9:5: error: 'f' was not declared in this scope"]
    for i, text in enumerate(texts):
        db.add("tool_calls", run_id="a", seq=i, ok=False, result_text=text)
    rows = db.rows("select seq, field, evidence_start, evidence_end from classified_texts order by seq")
    assert [r[1] for r in rows] == ["harness", "diagnostic"]
    assert texts[0][rows[0][2] : rows[0][3]].startswith("torchrun eval timed out")
    assert texts[1][rows[1][2] : rows[1][3]] == "was not declared"
    assert db.rows("select evidence_start, evidence_end from tool_failures order by seq") == [r[2:] for r in rows]


def test_a_code_beside_the_text_has_no_place_in_it(db):
    db.add("tool_calls", run_id="a", ok=False, result_text="x", metadata={"error": "eval_rpc_timeout"})
    assert db.one("select evidence_start from tool_failures") is None
