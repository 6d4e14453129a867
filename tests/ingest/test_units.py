"""Units and sentinels of declared numbers: what a harness labels one way and means another."""

from __future__ import annotations

import json
import math

import pytest
from kbstats.ingest import metrics
from kbstats.ingest.errors import UsageError
from kbstats.ingest.table_map import SCALES, load_map

RESULT = {
    "runtime_stats": {"mean": 0.5, "median": 0.0, "std": 0.0, "min": -1, "max": "0.75", "num_trials": 100},
    "ref_runtime_stats": {"mean": 2, "std": -1.0},
    "memory_stats": {"peak_memory_mb": 3, "ref_peak_memory_bytes": 7, "ref_peak_memory_mb": 9, "memory_ratio": 0},
    "energy_stats": {"energy_per_run_mj": 0.0, "avg_power_w": 250},
    "numerical_precision": {"max_abs_error": 0.0, "mean_abs_error": float("nan")},
}


def found(result):
    return {(m.subject, m.name): (m.value, m.unit, m.source) for m in metrics.rows("r", result)}


def test_runtimes_are_milliseconds_and_become_microseconds_and_sentinels_become_nothing() -> None:
    assert found(RESULT) == {
        ("candidate", "runtime.mean"): (500.0, "us", "harness"),
        ("candidate", "runtime.std"): (0.0, "us", "harness"),  # a spread of 0 is a value
        ("candidate", "runtime.max"): (750.0, "us", "harness"),
        ("candidate", "runtime.trials"): (100.0, "count", "harness"),
        ("reference", "runtime.mean"): (2000.0, "us", "harness"),
        ("candidate", "memory.peak"): (3 * 2**20, "bytes", "harness"),
        ("reference", "memory.peak"): (7.0, "bytes", "harness"),  # the exact figure, not the rounded one
        ("candidate", "power.mean"): (250.0, "w", "nvml"),
        # A meter that says 0 did not tick: no measurement, and told of by a name of its own.
        ("candidate", "energy.per_run.zero"): (1.0, "count", "nvml"),
        ("candidate", "error.max_abs"): (0.0, "abs", "harness"),
    }


@pytest.mark.parametrize(
    ("value", "want"),
    [(1, 1.0), ("2.5", 2.5), (0, 0.0), (-1, -1.0), (True, None), (None, None), ("x", None), (math.inf, None), (math.nan, None), (10**400, None), ([], None)],
)
def test_numbers_are_finite_or_unknown(value, want) -> None:
    assert metrics.number(value) == want
    assert metrics.positive(value) == (want if want is not None and want > 0 else None)


def test_scaling_keeps_sentinels_out() -> None:
    assert metrics.positive(2, 1000.0) == 2000.0
    assert metrics.positive(0, 1000.0) is None
    assert metrics.positive(-1, 1000.0) is None
    assert metrics.measured(1e-9)
    assert not metrics.measured(0.0)
    assert metrics.known(0.0)
    assert not metrics.known(-1e-9)


def test_both_groups_of_a_profiler_give_a_number_once_and_a_heuristic_says_so() -> None:
    summary = {"source": "nsight_hardware_counters", "sol_score": 0.5, "occupancy_pct": 40.0, "gpu_time_us": 12.5}
    rows = metrics.once(metrics.rows("r", {"sol_stats": summary, "roofline_stats": summary}))
    assert sorted((m.name, m.value, m.source) for m in rows) == [
        ("gpu_time", 12.5, "nsight"), ("occupancy", 40.0, "nsight"), ("sol.score", 0.5, "nsight"),
    ]  # fmt: skip
    guess = {"source": "heuristic", "sol_score": 0.5, "occupancy_pct": 40.0}
    assert [(m.name, m.source) for m in metrics.rows("r", {"sol_stats": guess})] == [("sol.score", "heuristic")]
    bare = {"sm_count": 132, "warp_stalls": {"barrier": 3.0, "none": -1}}
    assert [(m.name, m.value, m.unit, m.source) for m in metrics.rows("r", {"roofline_stats": bare})] == [("warp_stall.barrier", 3.0, "pct", "heuristic")]

    # with neither a count of multiprocessors nor counters it is the harness's own word; counters stay counters
    for told, source in (({}, "harness"), ({"source": "nsight", "sm_count": 132}, "nsight")):
        (stall,) = metrics.rows("r", {"roofline_stats": {"warp_stalls": {"barrier": 3.0}, **told}})
        assert stall.source == source


def test_a_profiler_s_call_carries_its_place() -> None:
    rows = list(metrics.profile_rows("r", {"raw_metrics_ref": {"occupancy_pct": 10.0}, "occupancy_pct": 20.0, "warp_stalls": {"x": 0}}, turn=2, seq=1))
    assert [(m.name, m.value, m.turn, m.seq, m.subject, m.source) for m in rows] == [
        ("occupancy", 20.0, 2, 1, "candidate", "nsight"), ("warp_stall.x", 0.0, 2, 1, "candidate", "nsight"),
    ]  # fmt: skip


def test_what_is_no_group_yields_nothing() -> None:
    assert not list(metrics.rows("r", {"other": {"mean": 1.0}, "runtime_stats": None}))
    assert not list(metrics.rows("r", {"runtime_stats": [1.0]}))


def test_every_unit_of_a_mapping_is_a_second_s_share() -> None:
    second = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
    for suffix, target in (("_us", "us"), ("_s", "s")):
        for unit, scale in SCALES[suffix].items():
            assert scale == pytest.approx(second[unit] / second[target]), (suffix, unit)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such mapping file"),
        ("columns = [", "not TOML"),
        ("colums = 1\n", "unknown key 'colums'"),
        ("name = 'x'\n", r"no \[columns\]"),
        ("[columns]\ncolour = 'c'\n", "'colour'"),
        ("[constants]\ncolour = 1\n[columns]\nlevel = 'l'\n", "'colour'"),
        ("[columns]\nlevel = 3\n", "names no column"),
        ("[columns]\nlevel = {unit = 'ms'}\n", "names no column"),
        ("[columns]\nruntime_us = {column = 'a', unit = 'h'}\n", "ns"),
        ("[columns]\nlevel = {column = 'a', unit = 'ms'}\n", "it has no unit"),
        ("metrics = [1]\n[columns]\nlevel = 'l'\n", "needs column and name"),
        ("[columns]\nlevel = 'l'\n[[metrics]]\ncolumn = 'a'\n", "needs column and name"),
    ],
)
def test_a_mapping_that_cannot_be_meant_says_why(text, words) -> None:
    with pytest.raises(UsageError, match=words):
        load_map(text, "m.toml")


def test_a_mapping_s_units_and_sentinels() -> None:
    found = load_map("[columns]\nruntime_us = {column = 'a', unit = 'ms', null = [-1]}\nwall_s = {column = 'b', unit = 'min'}\n", "m.toml")
    assert found.columns["runtime_us"].scale == 1e3
    assert found.columns["runtime_us"].null == ("-1",)
    assert found.columns["wall_s"].scale == 60.0
    assert found.required == ("a", "b")
    assert found.name == "m.toml"


@pytest.mark.parametrize(
    ("said", "right", "told"),
    [(0, True, ["a speedup of 0 for a run that is called correct; taken from its runtimes"]), (-1.0, False, []), (-7, False, ["a speedup of -7 for a run; taken from its runtimes"])],
)
def test_a_speedup_that_is_none_is_told_of_unless_the_run_failed(wh, data, tmp_path, said, right, told):
    """A failed run's 0 or -1 is how harnesses write "none"; a correct run's contradicts itself."""
    (source,) = (data / "popcornbench").rglob("demo_old_single/model-x/level_1_problem_2_trajectory.json")
    result = {"compiled": True, "correctness": right, "runtime": 2.0, "ref_runtime": 3.0}
    path = tmp_path / source.name
    path.write_text(json.dumps(json.loads(source.read_text()) | {"speedup": said, "final_result": result}))
    wh.ingest(path)
    assert wh.column("select speedup from runs") == [1.5]
    assert wh.column("select message from ingest_issues where code = 'sentinel'") == told
    assert wh.column("select run_id from ingest_issues where code = 'sentinel'") == wh.column("select run_id from runs") * len(told)
