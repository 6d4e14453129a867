from __future__ import annotations


def test_who_used_what_and_passed(db):
    db.story("a", "W", "R", "R")
    db.story("b", "W", "W")
    db.add("tool_calls", run_id="a", turn=2, seq=1, tool="profile_kernel", ok=True)
    rows = {r[0]: r[1:] for r in db.rows("select tool, n_runs, n_calls, n_runs_passed, n_runs_before_first_pass, pass_rate from tools_before_success")}
    assert rows["run_correctness"] == (2, 3, 1, 1, 0.5)
    assert rows["profile_kernel"] == (1, 1, 1, 0, 1.0)  # only after the first pass
