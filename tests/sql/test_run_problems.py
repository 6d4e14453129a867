"""One problem is one problem, however its sources name it."""

from __future__ import annotations


def keys(db) -> dict[str, str]:
    return dict(db.rows("select run_id, problem_key from run_problems"))


def test_number_and_name_complete_each_other(db) -> None:
    db.add("runs", run_id="both", problem_id=7, problem_name="7_A.py", variant="original")
    db.add("runs", run_id="number", problem_id=7, problem_name=None, variant="default")
    db.add("runs", run_id="name", problem_id=None, problem_name="7_A.py")
    db.add("runs", run_id="other", problem_id=8, problem_name=None)
    db.add("runs", run_id="elsewhere", level=2, problem_id=7, problem_name=None)
    got = keys(db)
    assert got["both"] == got["number"] == got["name"] == "kb/original/1/7/7_A.py"
    assert (got["other"], got["elsewhere"]) == ("kb/original/1/8/?", "kb/original/2/7/?")


def test_two_names_of_one_number_leave_it_open(db) -> None:
    for name in ("7_A.py", "7_B.py"):
        db.add("runs", run_id=name, problem_id=7, problem_name=name)
    db.add("runs", run_id="number", problem_id=7, problem_name=None)
    assert keys(db)["number"] == "kb/original/1/7/?"


def test_a_problem_file_names_what_a_table_numbers(db) -> None:
    db.add("problems", source_id="p", suite="kb", level=1, problem_id=3, problem_name="3_C.py")
    db.add("runs", run_id="a", problem_id=3, problem_name=None)
    assert keys(db)["a"] == "kb/original/1/3/3_C.py"


def test_a_linked_record_tells_the_variant(db) -> None:
    """A table without variants and the trace of one of its runs: the table's other rows are of that problem too."""
    db.add("runs", run_id="trace", model="A", variant="stub", speedup=2.0, correct=True)
    db.add("runs", run_id="row", model="A", format="table", speedup=2.0, correct=True)
    db.add("runs", run_id="other row", model="B", format="table", speedup=3.0, correct=True)
    db.add("runs", run_id="other problem", model="B", problem_id=2, problem_name="2_B.py", format="table")
    db.add("runs", run_id="says so", model="C", variant="original")
    assert len(set(keys(db).values())) == 3
    db.add("run_links", run_id="trace", linked_run_id="row", matched_on="speedup")
    got = keys(db)
    assert got["trace"] == got["row"] == got["other row"] == "kb/stub/1/1/1_A.py"
    assert got["other problem"] == "kb/original/1/2/2_B.py"
    assert got["says so"] == "kb/original/1/1/1_A.py"


def test_links_to_two_variants_leave_it_open(db) -> None:
    for run_id, variant in (("a", "x"), ("b", "y")):
        db.add("runs", run_id=run_id, variant=variant)
        db.add("runs", run_id=f"{run_id}2", format="table", sample_id=ord(run_id))
        db.add("run_links", run_id=run_id, linked_run_id=f"{run_id}2", matched_on="wall_s")
    assert keys(db)["a2"] == keys(db)["b2"] == "kb/original/1/1/1_A.py"


def test_the_board_counts_it_once(db) -> None:
    db.add("runs", run_id="a", problem_name=None, correct=False)
    db.add("runs", run_id="b", correct=False)
    assert db.rows("select key, n from board(grouping := 'problem')") == [("kb/original/1/1/1_A.py", 2)]
    assert db.one("select count(*) from ranked_runs(variants := ['default'])") == 2
