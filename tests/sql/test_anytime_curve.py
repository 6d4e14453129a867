from __future__ import annotations


def test_share_passed_after_each_turn(db):
    db.story("a", "W", "R")
    db.story("b", "W", "W", "R")
    db.story("c", "W")
    got = db.rows("select turns_used, n_runs, n_passed, share_passed from anytime_curve where model = 'M' order by 1")
    assert got == [(1, 3, 0, 0.0), (2, 3, 1, 1 / 3), (3, 3, 2, 2 / 3)]


def test_best_speedup_so_far_never_falls(db):
    db.add("runs", run_id="a", model="M", format="kernelbench_agentic", source_outcome="correct", correct=True)
    for turn, cand in ((0, 50.0), (1, 10.0), (2, 100.0)):
        db.add("turns", run_id="a", turn=turn)
        db.add("tool_calls", run_id="a", turn=turn, tool="evaluate", ok=True)
        db.add("metrics", run_id="a", turn=turn, seq=0, name="runtime.mean", value=cand)
        db.add("metrics", run_id="a", turn=turn, seq=0, name="runtime.mean", value=100.0, subject="reference")
    got = db.rows("select round(geomean_best_speedup, 6) from anytime_curve order by turns_used")
    assert got == [(2.0,), (10.0,), (10.0,)]
