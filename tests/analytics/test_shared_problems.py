"""Coverage and shared problems, on boards of every kind and over sources that name problems differently."""

from __future__ import annotations

import pytest
from kbstats.analytics import compare, matrix
from kbstats.analytics import leaderboards as lb


def add(db, model, numbers, level=1, *, named=True, **more):
    for i in numbers:
        db.add("runs", run_id=f"{model}-{level}-{i}", model=model, level=level, problem_id=i, problem_name=f"{i}_P.py" if named else None,
               source_outcome="correct", correct=True, speedup=1.0 + i, **more)  # fmt: skip


def test_a_table_of_numbers_and_one_of_names_share_their_problems(db):
    add(db, "A", range(4))
    add(db, "B", range(1, 6), named=False)
    found = lb.board(db.fresh(), lb.Filters())
    assert {r["model"]: (r["n_problems"], r["n_offered"], r["n_shared"]) for r in found.rows} == {"A": (4, 6, 3), "B": (5, 6, 3)}
    assert {r["model"]: r["n"] for r in lb.board(db.con, lb.Filters(), shared=True).rows} == {"A": 3, "B": 3}
    pairs = compare.compare(db.con, "A", "B", lb.Filters())
    assert (pairs["pairs"], len(pairs["only_a"]), len(pairs["only_b"])) == (3, 1, 2)


def test_coverage_is_never_more_than_all(db):
    add(db, "A", range(5), named=False)
    (row,) = lb.board(db.fresh(), lb.Filters()).rows
    assert (row["n_problems"], row["n_offered"], row["coverage"]) == (5, 5, 1.0)


def test_what_others_attempted_is_offered(db):
    add(db, "A", range(2))
    add(db, "B", range(8))
    (row,) = lb.board(db.fresh(), lb.Filters(models=["A"])).rows
    assert (row["n_offered"], row["coverage"]) == (8, 0.25)


@pytest.mark.parametrize("by", ["level", "variant", "suite"])
def test_a_part_of_the_suite_is_measured_by_its_own_problems(db, by):
    parts = {"level": ("level", 1, 2), "variant": ("variant", "original", "hard"), "suite": ("suite", "kb", "other")}
    column, one, two = parts[by]
    add(db, "A", range(2), **{column: one})
    add(db, "B", range(3), **{"level": 3, column: two})
    rows = lb.board(db.fresh(), lb.Filters(), by=by, min_coverage=0.9).rows
    assert {r[by]: (r["n_offered"], r["coverage"]) for r in rows} == {str(one): (2, 1.0), str(two): (3, 1.0)}


@pytest.mark.parametrize("by", ["level", "problem", "variant", "suite", "run"])
def test_rows_that_have_no_problem_in_common_share_their_models_problems(db, by):
    add(db, "A", range(3))
    add(db, "B", range(2))
    add(db, "A", range(2), level=2)
    rows = lb.board(db.fresh(), lb.Filters(), by=by, shared=True).rows
    assert sum(r.get("n", 1) for r in rows) == 4


def test_a_small_model_goes_before_problems_are_shared(db):
    add(db, "A", range(10))
    add(db, "B", range(10))
    add(db, "tiny", [11])
    found = lb.board(db.fresh(), lb.Filters(), min_coverage=0.5, shared=True)
    assert {r["model"]: r["n"] for r in found.rows} == {"A": 10, "B": 10}
    assert found.notes == ["left out, below 50% of 11 problems: tiny"]
    assert len(matrix.matrix(db.con, lb.Filters(), min_coverage=0.5, shared=True).rows) == 20
    assert lb.board(db.con, lb.Filters(), shared=True).rows == []


def test_a_traces_variant_does_not_take_its_problem_away(db):
    """Of a table without variants one run's trace ranks; it still pairs with the other model's row."""
    add(db, "A", [1], format="table")
    add(db, "B", [1], format="table")
    db.add("runs", run_id="trace", model="A", variant="stub", problem_id=1, problem_name="1_P.py", source_outcome="correct", correct=True, speedup=2.0)
    db.add("run_links", run_id="trace", linked_run_id="A-1-1", matched_on="speedup")
    assert compare.compare(db.fresh(), "A", "B", lb.Filters())["pairs"] == 1
    assert len({r["problem_key"] for r in matrix.matrix(db.con, lb.Filters()).rows}) == 1
