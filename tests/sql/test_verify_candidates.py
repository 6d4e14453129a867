from __future__ import annotations


def test_the_candidates_are_the_boards_top(db):
    for run_id, speedup, mode in (("a", 9.0, "x"), ("b", 8.0, "x"), ("c", 7.0, "y"), ("d", 6.0, "x")):
        db.add("runs", run_id=run_id, source_outcome="correct", correct=True, speedup=speedup, mode=mode, submitted_kernel_sha256=run_id)
    db.add("runs", run_id="w", source_outcome="incorrect", correct=False, speedup=99.0)
    db.add("run_links", run_id="b", linked_run_id="a", matched_on="wall_s")
    board = [r[0] for r in db.rows("select run_id from ranked_runs() where speedup is not null order by speedup desc")]
    assert [r[0] for r in db.rows("select run_id from verify_candidates()")] == board == ["b", "c", "d"]
    assert [r[0] for r in db.rows("select run_id from verify_candidates(modes := ['x'])")] == ["b", "d"]
    assert [r[0] for r in db.rows("select run_id from verify_candidates(run_ids := ['w'])")] == ["w"]
