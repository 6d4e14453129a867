"""Intervals are kept under what they rest on: found again, never stale."""

from __future__ import annotations

import pytest
from kbstats.analytics import intervals, stats
from kbstats.analytics import leaderboards as lb


def fill(db, model, n=5, **more):
    for i in range(n):
        db.add("runs", run_id=f"{model}{i}", model=model, problem_id=i, problem_name=f"{i}.py", source_outcome="correct", correct=True, speedup=1.5 + i, **more)


def test_a_board_finds_what_was_stored(db, monkeypatch):
    fill(db, "A")
    fill(db, "B", level=2)
    con = db.fresh()
    before = {by: lb.board(con, lb.Filters(levels=by)).rows for by in ((), (2,))}
    assert intervals.store(con) == 1  # both models have the same speedups at problems in the same order
    monkeypatch.setattr(stats, "bootstrap", lambda *_: pytest.fail("computed again"))
    for by, rows in before.items():
        assert lb.board(con, lb.Filters(levels=by)).rows == rows


def test_other_runs_are_computed_and_old_intervals_go(db):
    fill(db, "A")
    assert intervals.store(db.fresh()) == 1
    assert intervals.store(db.fresh()) == 0
    old = db.rows("select key from board_intervals")
    db.add("runs", run_id="A9", model="A", problem_id=9, problem_name="9.py", source_outcome="correct", correct=True, speedup=9.0)
    (row,) = lb.board(db.fresh(), lb.Filters()).rows
    assert row["geomean_hi"] == stats.bootstrap([1.5, 2.5, 3.5, 4.5, 5.5, 9.0], list("abcdef"))[0].hi
    assert intervals.store(db.con) == 1
    assert db.rows("select key from board_intervals") != old


def test_below_three_problems_nothing_is_stored(db):
    fill(db, "A", n=2)
    assert intervals.store(db.fresh()) == 0


def test_the_key_knows_values_and_which_share_a_problem():
    keys = {intervals.key_of(v, p) for v, p in (([1.0, 2.0], "ab"), ([1.0, 2.0], "aa"), ([1.0, 2.1], "ab"), ([2.0, 1.0], "ab"))}
    assert len(keys) == 4
    assert intervals.key_of([1.0, 2.0], "ab") == intervals.key_of([1.0, 2.0], "xy")


def test_no_numpy_when_all_is_kept(tmp_path):
    import subprocess
    import sys

    code = (
        "import sys; from pathlib import Path; from kbstats.analytics import warehouse, intervals, leaderboards as lb\n"
        "p = Path(sys.argv[1]); con = warehouse.open_write(p)\n"
        "con.execute(\"insert into runs by name select 'r' || i as run_id, 's' as source_id, 'x' as format, 'kb' as suite, "
        "'A' as model, i as problem_id, true as correct, 'correct' as source_outcome, 1.0 + i as speedup from range(5) as t(i)\")\n"
        "warehouse.refresh(con); intervals.store(con); con.close()\n"
    )
    path = tmp_path / "k.duckdb"
    subprocess.run([sys.executable, "-c", code, path], check=True)
    read = (
        "import sys; from pathlib import Path; from kbstats.analytics import warehouse, leaderboards as lb\n"
        "rows = lb.board(warehouse.open_read(Path(sys.argv[1])), lb.Filters()).rows\n"
        "assert rows[0]['geomean_lo'], rows; assert 'numpy' not in sys.modules and 'rich' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", read, path], check=True)
