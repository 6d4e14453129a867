from __future__ import annotations


def run(db, **more):
    db.add("runs", run_id="a", format="kernelbench_agentic", source_outcome="correct", correct=True, speedup=3.0, **more)


def test_a_turns_own_timing(db):
    run(db)
    for turn, cand in ((0, 50.0), (1, 20.0)):
        db.add("tool_calls", run_id="a", turn=turn, tool="evaluate", ok=True)
        db.add("metrics", run_id="a", turn=turn, seq=0, name="runtime.mean", value=cand)
        db.add("metrics", run_id="a", turn=turn, seq=0, name="runtime.mean", value=100.0, subject="reference")
    assert db.rows("from turn_speedups order by turn") == [("a", 0, 2.0), ("a", 1, 5.0)]


def test_the_runs_speedup_stands_at_its_last_pass(db):
    run(db)
    for turn, ok in ((0, True), (1, True), (2, False)):
        db.add("tool_calls", run_id="a", turn=turn, tool="evaluate", ok=ok)
    assert db.rows("from turn_speedups") == [("a", 1, 3.0)]


def test_a_run_that_is_not_correct_has_none(db):
    db.add("runs", run_id="a", source_outcome="incorrect", correct=False, speedup=3.0)
    db.add("tool_calls", run_id="a", tool="run_correctness", ok=True)
    assert db.rows("from turn_speedups") == []
