"""What a suite offers."""

from __future__ import annotations


def test_files_and_attempts_each_once(db) -> None:
    db.add("runs", run_id="a", problem_id=1, problem_name="1_A.py")
    db.add("runs", run_id="b", problem_id=9, problem_name=None)
    for number, name in ((1, None), (None, "1_A.py"), (1, "1_A.py"), (2, "2_B.py")):
        db.add("problems", source_id="p", suite="kb", level=1, problem_id=number, problem_name=name)
    db.add("problems", source_id="p", suite="kb", level=1, variant="hard", problem_id=1, problem_name="1_A.py")
    got = db.rows("select variant, level, problem_key from suite_problems order by all")
    assert got == [
        ("hard", 1, "kb/hard/1/1/1_A.py"),
        ("original", 1, "kb/original/1/1/1_A.py"),
        ("original", 1, "kb/original/1/2/2_B.py"),
        ("original", 1, "kb/original/1/9/?"),
    ]
