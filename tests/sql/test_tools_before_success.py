from __future__ import annotations


def story(db, run_id, *steps):
    """One turn a step: W wrong, B does not build, R right."""
    calls = {"W": (False, "Output mismatch"), "B": (False, 'kernel did not compile.\nk.cu(3): error: expected a ";"'), "R": (True, "PASSED")}
    db.add("runs", run_id=run_id, model="M", source_outcome="correct" if steps[-1] == "R" else "incorrect", correct=steps[-1] == "R", sample_id=ord(run_id))
    for turn, step in enumerate(steps):
        ok, text = calls[step]
        db.add("turns", run_id=run_id, turn=turn)
        db.add("tool_calls", run_id=run_id, turn=turn, tool="run_correctness" if turn < len(steps) - 1 else "submit_kernel", ok=ok, result_text=text, kernel_sha256=f"{run_id}{step}")


def test_who_used_what_and_passed(db):
    story(db, "a", "W", "R", "R")
    story(db, "b", "W", "W")
    db.add("tool_calls", run_id="a", turn=2, seq=1, tool="profile_kernel", ok=True)
    rows = {r[0]: r[1:] for r in db.rows("select tool, n_runs, n_calls, n_runs_passed, n_runs_before_first_pass, pass_rate from tools_before_success")}
    assert rows["run_correctness"] == (2, 3, 1, 1, 0.5)
    assert rows["profile_kernel"] == (1, 1, 1, 0, 1.0)  # only after the first pass
