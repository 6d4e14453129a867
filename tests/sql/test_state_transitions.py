from __future__ import annotations


def test_how_often_each_state_follows_each(db):
    db.story("a", "B", "B", "W", "R")
    db.story("b", "W", "R")
    got = {(p, s): (n, runs) for p, s, n, runs in db.rows("select previous_state, state, n, n_runs from state_transitions where model = 'M'")}
    assert got == {
        ("start", "not_compiling"): (1, 1), ("not_compiling", "not_compiling"): (1, 1), ("not_compiling", "wrong"): (1, 1),
        ("wrong", "right"): (2, 2), ("start", "wrong"): (1, 1),
    }  # fmt: skip
