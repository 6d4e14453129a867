"""Boards of a published table against plain Python over its CSV, for every sweep, mode, model and level."""

from __future__ import annotations

import csv
import itertools
import math
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


def wilson(k, n, z=1.959963984540054):
    """The interval as the textbook writes it, by another formula than the package's."""
    half = z / (n + z * z) * math.sqrt(k * (n - k) / n + z * z / 4)
    return (k + z * z / 2) / (n + z * z) - half, (k + z * z / 2) / (n + z * z) + half


def speedup(r):
    return float(r["speedup"]) if r["speedup"] and r["correct"] == "True" else None


def ranks_and_order(rows, mine, key):
    """Ranks by Wilson intervals of fast_1, and the order of the rows."""
    groups = {}
    for r in mine:
        groups.setdefault(key(r), []).append(r)
    fast = {k: (sum((speedup(r) or 0) > 1 for r in g), len(g)) for k, g in groups.items()}
    ends = {k: wilson(*v) for k, v in fast.items()}
    assert {r["name"]: r["rank"] for r in rows} == {k: 1 + sum(other[0] > ends[k][1] for other in ends.values()) for k in groups}

    def place(k):
        speeds = [s for r in groups[k] if (s := speedup(r)) is not None]
        right = sum(r["correct"] == "True" for r in groups[k]) / len(groups[k])
        return -fast[k][0] / fast[k][1], -right, -(stats.geomean(speeds) if speeds else -math.inf), k

    assert [r["name"] for r in rows] == sorted(groups, key=place)


def samples(row, runs, k):
    """pass@k and best of k by counting every draw of k samples of each problem."""
    problems = {}
    for r in runs:
        problems.setdefault((r["level"], r["problem_id"], r["task"]), []).append(r)
    passes, bests = [], []
    for g in problems.values():
        draws = list(itertools.combinations(g, k))
        if draws:
            passes.append(sum(any(r["correct"] == "True" for r in d) for d in draws) / len(draws))
            bests.append(sum(math.log(max(1.0, *(speedup(r) or 1.0 for r in d))) for d in draws) / len(draws))
    assert row[f"pass_{k}_problems"] == len(passes)
    assert row[f"pass_{k}"] == (pytest.approx(sum(passes) / len(passes)) if passes else None)
    assert row[f"best_of_{k}"] == (pytest.approx(math.exp(sum(bests) / len(bests))) if bests else None)


def compare(rows, table, **filters):
    mine = [r for r in table if all(r[k] in v for k, v in filters.items())]
    assert sum(r["n"] for r in rows) == len(mine)
    for row in rows:
        runs = [r for r in mine if r["model_raw"] == row["model"]]
        speeds = [float(r["speedup"]) for r in runs if r["speedup"] and r["correct"] == "True"]
        assert row["n"] == len(runs)
        assert row["correct"] == sum(r["correct"] == "True" for r in runs)
        assert (row["correct_lo"], row["correct_hi"]) == pytest.approx(wilson(row["correct"], row["n"]))
        assert row["n_problems"] == len({(r["level"], r["problem_id"], r["task"]) for r in runs})
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
    if rows and all("model" in r for r in rows):
        ranks_and_order([{**r, "name": r["model"]} for r in rows], mine, lambda r: r["model_raw"])


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


def test_several_samples_against_every_draw_of_them(con, table):
    """The table has the same problem in up to four sweeps: these are the samples."""
    for level in sorted({r["level"] for r in table}):
        for row in lb.board(con, lb.Filters(levels=[int(level)]), ks=(1, 2, 3)).rows:
            runs = [r for r in table if r["level"] == level and r["model_raw"] == row["model"]]
            for k in (1, 2, 3):
                samples(row, runs, k)


def test_audited_speeds_against_plain_python(con, table):
    """A table keeps no kernels: of its claims those over 100x and those without a speedup lose it, and nothing else."""
    for row in lb.board(con, lb.Filters(trust="audited")).rows:
        runs = [r for r in table if r["model_raw"] == row["model"]]
        speeds = [s for r in runs if (s := speedup(r)) is not None]
        assert row["correct"] == sum(r["correct"] == "True" for r in runs)
        assert row["n_speedup"] == sum(s <= 100 for s in speeds)
        assert row["withdrawn"] == sum(s > 100 for s in speeds)
        assert row["fast_2"] == pytest.approx(sum(2 < s <= 100 for s in speeds) / len(runs))


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


def test_meters_that_did_not_tick_are_named(con, table):
    """Every row whose energy or power is exactly zero, counted in the CSV itself."""
    zero = [r for r in table if any(r[c] and float(r[c]) == 0 for c in ("energy_mj", "power_w"))]
    assert zero
    named = con.execute(
        "select r.sweep, r.model_raw, r.level, r.problem_id from audit_findings join runs as r using (run_id) where code = 'zero_power' order by all"
    ).fetchall()
    assert named == sorted((r["folder"], r["model_raw"], int(r["level"]), int(r["problem_id"])) for r in zero)
    assert con.execute("select count(*) from metrics where name in ('energy.per_run', 'power.mean') and value = 0").fetchall() == [(0,)]
