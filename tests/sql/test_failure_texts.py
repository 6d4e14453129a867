from __future__ import annotations


def texts(db, field):
    return db.rows("select run_id, turn, seq, origin, body from failure_texts where field = ? order by all", [field])


def test_failing_calls_only(db):
    db.add("runs", run_id="a")
    db.add("tool_calls", run_id="a", seq=0, ok=True, result_text="fine")
    db.add("tool_calls", run_id="a", seq=1, ok=False, result_text="bad", metadata={"error": "cuda_oom"})
    db.add("tool_calls", run_id="a", seq=2, ok=None, result_text="specs")
    assert texts(db, "text") == [("a", 0, 1, "tool", "bad")]
    assert texts(db, "metadata_error") == [("a", 0, 1, "tool", "cuda_oom")]


def test_diagnostic_is_the_first_error_line_and_never_a_warning(db):
    log = (
        "Error building extension 'k'\nk.cu(3): warning #177-D: variable \"error\" was declared but never referenced\n"
        'ptxas info    : Function properties, 0 bytes spill\nk.cu(7): error: expected a ";"\nk.cu(9): error: later\n'
    )
    db.add("tool_calls", run_id="a", ok=False, result_text=log)
    db.add("tool_calls", run_id="b", ok=False, result_text="ptxas info    : Used 32 registers, error-free")
    db.add("tool_calls", run_id="c", ok=False, result_text="ptxas error   : Entry function 'k' uses too much shared data")
    db.add("tool_calls", run_id="d", ok=False, result_text='folded: /p/k.cu(4): error: identifier "x" is undefined y ^ /p/k.cu(5): error: more')
    got = {r: body for r, _, _, _, body in texts(db, "diagnostic")}
    assert got["a"] == 'k.cu(7): error: expected a ";"'
    assert "b" not in got
    assert got["c"].startswith("ptxas error")
    assert got["d"].startswith("/p/k.cu(4): error: identifier")


def test_final_results_words(db):
    meta = {"max_difference": ["nan"], "correctness_issue": "Output mismatch", "correctness_trials": "(0 / 5)"}
    db.add("runs", run_id="a", extra={"metadata": meta})
    db.add("runs", run_id="b", extra={"metadata": {"hardware": "H100"}})
    db.add("runs", run_id="c", extra={"metadata": {"other_error": "error: CUDA out of memory."}})
    got = {r: body for r, _, _, origin, body in texts(db, "text")}
    assert got["a"].splitlines() == ["correctness_trials: (0 / 5)", "correctness_issue: Output mismatch", "max_difference: ['nan']"]
    assert "b" not in got
    assert got["c"] == "other_error: CUDA out of memory."
    assert texts(db, "diagnostic") == []


def test_feedback_of_failing_model_calls_only(db):
    db.add("turns", run_id="a", turn=3, feedback="LLM call failed: Empty: ")
    db.add("turns", run_id="a", turn=2, feedback="Call submit_kernel when you are done.")
    assert texts(db, "feedback") == [("a", 3, None, "feedback", "LLM call failed: Empty: ")]
