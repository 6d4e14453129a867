from __future__ import annotations


def test_fastest_counting_run_of_each_model(db):
    for run_id, speedup, label in (("a", 2.0, "correct"), ("b", 3.0, "correct"), ("c", 900.0, "correct"), ("d", None, "incorrect")):
        db.add("runs", run_id=run_id, model="M", sample_id=ord(run_id), source_outcome=label, correct=label == "correct", speedup=speedup)
    got = {t: (n, c, s, r) for t, n, c, s, r in db.rows("select trust, n, correct, best_speedup, best_run_id from problem_bests where model = 'M'")}
    assert got["claimed"] == (4, 3, 900.0, "c")
    assert got["audited"] == (4, 3, 3.0, "b")
    assert got["verified"] == (4, 0, None, None)
