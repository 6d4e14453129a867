from __future__ import annotations


def story(db, run_id, *steps):
    """One turn a step: W wrong, B does not build, R right."""
    calls = {"W": (False, "Output mismatch"), "B": (False, 'kernel did not compile.\nk.cu(3): error: expected a ";"'), "R": (True, "PASSED")}
    db.add("runs", run_id=run_id, model="M", source_outcome="correct" if steps[-1] == "R" else "incorrect", correct=steps[-1] == "R", sample_id=ord(run_id))
    for turn, step in enumerate(steps):
        ok, text = calls[step]
        db.add("turns", run_id=run_id, turn=turn)
        db.add("tool_calls", run_id=run_id, turn=turn, tool="run_correctness" if turn < len(steps) - 1 else "submit_kernel", ok=ok, result_text=text, kernel_sha256=f"{run_id}{step}")


def test_the_same_error_on_the_same_kernel(db):
    story(db, "a", "W", "W", "B", "W", "R")
    assert db.rows("select run_id, kernel_sha256, failure_class, n, n_repeats, first_turn, last_turn from repeated_errors") == [
        ("a", "aW", "value.mismatch", 3, 2, 0, 3)
    ]
