from __future__ import annotations


def test_turns_lost_and_recovery(db):
    db.story("a", "B", "B", "W", "R")
    db.story("b", "W", "W")
    db.story("c", "W", "W", "W", "R")
    rows = {r[0]: r[1:] for r in db.rows("select failure_class, turns_lost, n_runs, recovered, recovery_rate, median_turns_to_recover from class_costs")}
    assert rows["compile.syntax_cxx"] == (2, 1, 1, 1.0, 3.0)
    assert rows["value.mismatch"] == (6, 3, 2, 2 / 3, 2.0)  # a: 1 turn, c: 3 turns
