from __future__ import annotations

import math

import pytest


@pytest.fixture
def five(db):
    """Two models, three problems: a right and fast, right and slow, right without a time, wrong, lost."""
    rows = [
        ("a1", "A", 1, "correct", 4.0), ("a2", "A", 2, "correct", 0.5), ("a3", "A", 3, "correct", None),
        ("b1", "B", 1, "incorrect", None), ("b2", "B", 2, "in_progress", None),
    ]  # fmt: skip
    for run_id, model, problem, label, speedup in rows:
        db.add("runs", run_id=run_id, model=model, problem_id=problem, problem_name=f"{problem}.py", source_outcome=label,
               correct=label == "correct", speedup=speedup, total_tokens=100, cost_usd=0.5)  # fmt: skip
    return db


def board(db, arguments=""):
    result = db.fresh().execute(f"from board({arguments}) order by key")
    names = [d[0] for d in result.description]
    return [dict(zip(names, row, strict=True)) for row in result.fetchall()]


def test_by_model(five):
    a, b = board(five)
    assert (a["key"], a["n"], a["correct"], a["n_speedup"], a["n_fast_1"], a["n_fast_2"]) == ("A", 3, 3, 2, 1, 1)
    assert a["median_speedup"] == 2.25
    assert math.isclose(a["geomean_speedup"], math.sqrt(2.0))
    assert (a["total_tokens"], a["cost_usd"]) == (300, 1.5)
    assert (b["n"], b["correct"], b["excluded_infra"], b["median_speedup"]) == (2, 0, 1, None)


def test_n_is_the_same_at_all_levels_of_trust(five):
    assert [[r["n"] for r in board(five, f"trust := '{t}'")] for t in ("claimed", "audited", "verified")] == [[3, 2]] * 3
    assert [r["withdrawn"] for r in board(five, "trust := 'verified'")] == [3, 0]


def test_excluded_infra_is_counted_also_when_it_is_out(five):
    b = board(five, "exclude_infra := true")[1]
    assert (b["n"], b["excluded_infra"]) == (1, 1)


def test_exactly_one_is_not_fast(db):
    db.add("runs", run_id="a", model="A", source_outcome="correct", correct=True, speedup=1.0)
    assert board(db)[0]["n_fast_1"] == 0


@pytest.mark.parametrize("grouping", ["mode", "sweep", "level", "variant", "suite", "harness", "hardware", "backend", "problem"])
def test_other_groupings_hold_every_run_once(five, grouping):
    rows = board(five, f"\"grouping\" := '{grouping}'")
    assert sum(r["n"] for r in rows) == 5
    assert all(r["key"] is not None for r in rows)


def test_an_empty_database(db):
    assert board(db) == []
