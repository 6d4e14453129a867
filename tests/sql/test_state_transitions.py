from __future__ import annotations


def story(db, run_id, *steps):
    """One turn a step: W wrong, B does not build, R right."""
    calls = {"W": (False, "Output mismatch"), "B": (False, 'kernel did not compile.\nk.cu(3): error: expected a ";"'), "R": (True, "PASSED")}
    db.add("runs", run_id=run_id, model="M", source_outcome="correct" if steps[-1] == "R" else "incorrect", correct=steps[-1] == "R", sample_id=ord(run_id))
    for turn, step in enumerate(steps):
        ok, text = calls[step]
        db.add("turns", run_id=run_id, turn=turn)
        db.add("tool_calls", run_id=run_id, turn=turn, tool="run_correctness" if turn < len(steps) - 1 else "submit_kernel", ok=ok, result_text=text, kernel_sha256=f"{run_id}{step}")


def test_how_often_each_state_follows_each(db):
    story(db, "a", "B", "B", "W", "R")
    story(db, "b", "W", "R")
    got = {(p, s): (n, runs) for p, s, n, runs in db.rows("select previous_state, state, n, n_runs from state_transitions where model = 'M'")}
    assert got == {
        ("start", "not_compiling"): (1, 1), ("not_compiling", "not_compiling"): (1, 1), ("not_compiling", "wrong"): (1, 1),
        ("wrong", "right"): (2, 2), ("start", "wrong"): (1, 1),
    }  # fmt: skip
