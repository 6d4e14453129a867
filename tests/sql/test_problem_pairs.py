"""Number and name of a problem, told by runs and by problem files."""

from __future__ import annotations


def test_a_pair_tells_the_other_half_only_where_there_is_one(db) -> None:
    db.add("runs", run_id="a", problem_id=1, problem_name="1_A.py", variant="default")
    db.add("runs", run_id="b", problem_id=1, problem_name=None)
    db.add("problems", source_id="p", suite="kb", level=1, problem_id=1, problem_name="1_A.py")
    db.add("problems", source_id="p", suite="kb", level=1, problem_id=2, problem_name="2_B.py")
    db.add("problems", source_id="p", suite="kb", level=1, problem_id=2, problem_name="2_C.py")
    got = db.rows("select problem_id, problem_name, only_name, only_number from problem_pairs order by all")
    assert got == [(1, "1_A.py", True, True), (2, "2_B.py", False, True), (2, "2_C.py", False, True)]
