from __future__ import annotations


def story(db, run_id, *steps):
    """One turn a step: W wrong, B does not build, R right."""
    calls = {"W": (False, "Output mismatch"), "B": (False, 'kernel did not compile.\nk.cu(3): error: expected a ";"'), "R": (True, "PASSED")}
    db.add("runs", run_id=run_id, model="M", source_outcome="correct" if steps[-1] == "R" else "incorrect", correct=steps[-1] == "R", sample_id=ord(run_id))
    for turn, step in enumerate(steps):
        ok, text = calls[step]
        db.add("turns", run_id=run_id, turn=turn)
        db.add("tool_calls", run_id=run_id, turn=turn, tool="run_correctness" if turn < len(steps) - 1 else "submit_kernel", ok=ok, result_text=text, kernel_sha256=f"{run_id}{step}")


def test_turns_lost_and_recovery(db):
    story(db, "a", "B", "B", "W", "R")
    story(db, "b", "W", "W")
    story(db, "c", "W", "W", "W", "R")
    rows = {r[0]: r[1:] for r in db.rows("select failure_class, turns_lost, n_runs, recovered, recovery_rate, median_turns_to_recover from class_costs")}
    assert rows["compile.syntax_cxx"] == (2, 1, 1, 1.0, 3.0)
    assert rows["value.mismatch"] == (6, 3, 2, 2 / 3, 2.0)  # a: 1 turn, c: 3 turns
