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
