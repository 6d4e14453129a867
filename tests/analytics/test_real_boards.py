"""Boards of a published table against plain Python over its CSV, for every sweep, mode, model and level."""

from __future__ import annotations

import csv
import itertools
import os
import statistics
from pathlib import Path

import pytest
from kbstats.analytics import leaderboards as lb
from kbstats.analytics import stats

pytestmark = [pytest.mark.real, pytest.mark.skipif("KBSTATS_REAL" not in os.environ, reason="$KBSTATS_REAL is not set")]


@pytest.fixture(scope="module")
def table():
    path = Path(os.environ["KBSTATS_REAL"]) / "popcornbench" / "tables" / "all_results.csv"
    with path.open(encoding="utf-8") as f:
        return list(csv.DictReader(f))


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    from kbstats.analytics import warehouse
    from kbstats.ingest import pipeline

    found = warehouse.open_write(tmp_path_factory.mktemp("real") / "csv.duckdb")
    pipeline.ingest(found, [Path(os.environ["KBSTATS_REAL"]) / "popcornbench" / "tables" / "all_results.csv"])
    warehouse.refresh(found)
    yield found
    found.close()


def compare(rows, table, **filters):
    mine = [r for r in table if all(r[k] in v for k, v in filters.items())]
    assert sum(r["n"] for r in rows) == len(mine)
    for row in rows:
        runs = [r for r in mine if r["model_raw"] == row["model"]]
        speeds = [float(r["speedup"]) for r in runs if r["speedup"] and r["correct"] == "True"]
        assert row["n"] == len(runs)
        assert row["correct"] == sum(r["correct"] == "True" for r in runs)
        assert row["n_speedup"] == len(speeds)
        assert row["fast_1"] == pytest.approx(sum(s > 1 for s in speeds) / len(runs))
        assert row["fast_2"] == pytest.approx(sum(s > 2 for s in speeds) / len(runs))
        if speeds:
            assert row["median_speedup"] == pytest.approx(statistics.median(speeds))
            assert row["geomean_speedup"] == pytest.approx(stats.geomean(speeds))
        else:
            assert row["median_speedup"] is None
            assert row["geomean_speedup"] is None
        tokens = [int(float(r["llm_total_tokens"])) for r in runs if r["llm_total_tokens"]]
        assert (row["total_tokens"] or 0) == sum(tokens)
        assert row["excluded_infra"] == sum(r["outcome"] == "in_progress" for r in runs)


def test_every_sweep_and_level(con, table):
    sweeps = sorted({r["folder"] for r in table})
    levels = sorted({r["level"] for r in table})
    for sweep, level in itertools.product([None, *sweeps], [None, *levels]):
        filters = lb.Filters(sweeps=[sweep] if sweep else [], levels=[int(level)] if level else [])
        want = ({"folder": [sweep]} if sweep else {}) | ({"level": [level]} if level else {})
        compare(lb.board(con, filters).rows, table, **want)


def test_every_mode_and_model(con, table):
    modes = con.execute("select distinct mode, sweep from runs").fetchall()
    for mode in sorted({m for m, _ in modes}):
        sweeps = [s for m, s in modes if m == mode]
        compare(lb.board(con, lb.Filters(modes=[mode])).rows, table, folder=sweeps)
    for model in sorted({r["model_raw"] for r in table}):
        compare(lb.board(con, lb.Filters(models=[model])).rows, table, model_raw=[model])


def test_what_cannot_be_true_in_it(con):
    counts = dict(con.execute("select code, count(distinct run_id) from audit_findings group by code").fetchall())
    assert counts["occupancy_over_100"] == 156
    assert counts["speedup_extraordinary"] == 91
    assert counts["speedup_over_10"] == 161
    assert counts["relabelled"] == 6
    assert counts["correct_without_timing"] == 6


def test_audited_never_ranks_what_blocks(con):
    claimed = {r["model"]: r for r in lb.board(con, lb.Filters()).rows}
    for row in lb.board(con, lb.Filters(trust="audited")).rows:
        assert row["n"] == claimed[row["model"]]["n"]
        assert (row["geomean_speedup"] or 0) <= (claimed[row["model"]]["geomean_speedup"] or 0)
    assert con.execute("select max(speedup) from ranked_runs(trust := 'audited')").fetchone()[0] <= 100
    assert {r["correct"] for r in lb.board(con, lb.Filters(trust="verified")).rows} == {0}


def test_matrix_against_plain_python(con, table):
    from kbstats.analytics import matrix

    rows = matrix.matrix(con, lb.Filters(sweeps=["pop_l123_all_gpt"])).rows
    mine = [r for r in table if r["folder"] == "pop_l123_all_gpt"]
    assert len(rows) == len(mine)
    got = {(r["model"], r["level"], r["problem_id"]): r for r in rows}
    for r in mine:
        cell = got[r["model_raw"], int(r["level"]), int(r["problem_id"])]
        assert (cell["n"], cell["correct"]) == (1, int(r["correct"] == "True"))
        assert cell["best_speedup"] == (float(r["speedup"]) if r["speedup"] and r["correct"] == "True" else None)


def test_near_ties_against_plain_python(con, table):
    """The table keeps no spread: the band is the least one."""
    want = sum(r["correct"] == "True" and bool(r["speedup"]) and abs(float(r["speedup"]) - 1) <= 0.02 for r in table)
    assert sum(r["near_tie"] for r in lb.board(con, lb.Filters()).rows) == want


def test_pairs_against_plain_python(con, table):
    from kbstats.analytics import compare

    a, b = "gpt-5.5-priority", "grok-4.3"
    found = compare.compare(con, a, b, lb.Filters(sweeps=["pop_l123_all_gpt"]))
    runs = {m: {(r["level"], r["problem_id"]): r for r in table if r["folder"] == "pop_l123_all_gpt" and r["model_raw"] == m} for m in (a, b)}
    wins = losses = 0
    for key in runs[a].keys() & runs[b].keys():
        x, y = runs[a][key], runs[b][key]
        if x["correct"] != y["correct"]:
            wins, losses = wins + (x["correct"] == "True"), losses + (y["correct"] == "True")
        elif x["speedup"] and y["speedup"] and x["correct"] == "True":
            ratio = float(x["speedup"]) / float(y["speedup"])
            band = 1 + (2 * 0.02**2) ** 0.5
            wins, losses = wins + (ratio > band), losses + (ratio < 1 / band)
    assert (found["pairs"], found["wins"], found["losses"]) == (len(runs[a].keys() & runs[b].keys()), wins, losses)


def test_speedups_over_1000(con):
    assert con.execute("select count(*) from audit_findings where code = 'speedup_extraordinary' and value > 1000").fetchone()[0] == 46


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    from kbstats.analytics import warehouse
    from kbstats.ingest import pipeline

    found = warehouse.open_write(tmp_path_factory.mktemp("real") / "all.duckdb")
    pipeline.ingest(found, [Path(os.environ["KBSTATS_REAL"])])
    warehouse.refresh(found)
    yield found
    found.close()


def test_at_most_two_percent_unclassified_over_all_samples(everything):
    for view in ("tool_failures", "run_failures"):
        unnamed, n = everything.execute(f"select count(*) filter (where failure_class = 'unclassified'), count(*) from {view}").fetchone()
        assert n > 300
        assert unnamed <= 0.02 * n, (view, unnamed, n)


def test_harnesses_that_judge_the_final_state_keep_their_verdicts(everything):
    """No run that its own harness calls correct is filed as never submitted."""
    hidden = everything.execute(
        "select count(*) from run_outcomes as o inner join runs as r on o.run_id = r.run_id "
        "where r.correct and o.outcome <> 'correct' and judges_final_state(r.format)"
    ).fetchone()[0]
    assert hidden == 0


def test_broken_sweeps_are_found(everything):
    found = everything.execute("select failure_class, n, n_runs from sweep_patterns where invalid order by n desc").fetchall()
    assert ("infra.cascade_poisoned_context", 186, 200) in found
    assert ("infra.config", 30, 30) in found
    assert {c for c, _, _ in found} == {"infra.cascade_poisoned_context", "infra.config", "cuda.no_kernel_image"}
