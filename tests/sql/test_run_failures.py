from __future__ import annotations


def test_one_row_a_failed_run_with_its_rule_and_place(db):
    text = "submit_kernel FAILED: correctness check did not pass.\ncorrectness_issue: Output mismatch"
    db.add("runs", run_id="a", model="M", source_outcome="incorrect", correct=False)
    db.add("tool_calls", run_id="a", turn=4, ok=False, result_text=text)
    db.add("runs", run_id="b", source_outcome="correct", correct=True)
    db.add("runs", run_id="c", source_outcome="skipped")
    db.add("runs", run_id="d", source_outcome="compile_fail", correct=False)
    db.add("runs", run_id="e", format="codex")
    rows = {r[0]: r[1:] for r in db.rows("select run_id, failure_class, owner, turn, seq, evidence_start, evidence_end, model from run_failures")}
    assert set(rows) == {"a", "d"}
    cls, owner, turn, seq, start, end, model = rows["a"]
    assert (cls, owner, turn, seq, model) == ("value.mismatch", "model", 4, 0, "M")
    assert text[start:end] == "Output mismatch"
    assert rows["d"][:5] == ("compile.no_text", "model", None, None, 0)
    assert db.one("select r.class from run_failures as f inner join failure_rules as r on f.rule = r.rule where f.run_id = 'a'") == "value.mismatch"


def test_the_place_is_that_of_the_call_that_decided(db):
    compiler = 'submit_kernel FAILED: compile\nk.cu(12): error: identifier "q" is undefined'
    db.add("runs", run_id="a", source_outcome="compile_fail", correct=False)
    db.add("tool_calls", run_id="a", turn=1, seq=0, ok=False, tool="submit_kernel", result_text=compiler)
    db.add("tool_calls", run_id="a", turn=1, seq=1, ok=False, tool="run_correctness", result_text="x" * 70 + " Output mismatch")
    ((cls, seq, start, end),) = db.rows("select failure_class, seq, evidence_start, evidence_end from run_failures")
    assert (cls, seq) == ("compile.undeclared", 0)
    assert "undefined" in compiler[start:end]
