"""Which runs are about the same problem."""

from __future__ import annotations


def key(db, *parts) -> str:
    return db.rows("select problem_key(?, ?, ?, ?, ?)", list(parts))[0][0]


def test_the_level_itself_has_three_names(db) -> None:
    assert len({key(db, "kb", v, 1, 7, "7_A.py") for v in ("original", "default", None)}) == 1
    assert key(db, "kb", "popcorn", 1, 7, "7_A.py") != key(db, "kb", None, 1, 7, "7_A.py")


def test_what_is_unknown_does_not_make_two_problems_one(db) -> None:
    assert len({key(db, "kb", None, 1, 7, None), key(db, "kb", None, 1, 8, None), key(db, "kb", None, 7, None, None), key(db, "kb", None, None, 7, None)}) == 4


def test_a_board_of_problems_has_one_row_for_one_problem(db) -> None:
    for run, variant in (("a", "original"), ("b", "default"), ("c", None)):
        db.add("runs", run_id=run, variant=variant, source_outcome="incorrect")
    assert db.rows("select n from board(grouping := 'problem')") == [(3,)]
    assert db.rows("select n from board(variants := ['original'])") == [(3,)]
