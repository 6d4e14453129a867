"""Official run folders in both file generations, and what lies beside."""

from __future__ import annotations

import json

import pytest


def test_one_sample_a_problem_as_objects(wh, data):
    summary = wh.ingest(data / "kernelbench/v1_level1_run")
    assert (summary.runs, dict(summary.ignored), dict(summary.issues)) == (3, {}, {})
    r = wh.rows("select * from runs order by problem_id")
    assert [x["problem_id"] for x in r] == [1, 2, 10]
    assert {(x["model_raw"], x["sweep"], x["level"], x["suite"], x["variant"]) for x in r} == {
        ("org/model-k", "v1_level1_run", 1, "kernelbench", "default")
    }
    assert [x["runtime_us"] for x in r] == [26300.0, None, None]
    assert [x["submitted_kernel_sha256"] is not None for x in r] == [True, False, False]
    assert {x["hardware"] for x in r} == {"NVIDIA A100-SXM4-40GB"}, "one machine evaluated the file"
    assert json.loads(r[2]["extra"])["hardware_from"] == "file"


def test_errors_and_time_outs(wh, data):
    wh.ingest(data / "kernelbench/v1_level1_run")
    (error,) = wh.rows("select toolchain, code, class from compile_errors")
    assert error == {"toolchain": "python", "code": "SyntaxError", "class": "compile.modelnew_or_syntax"}
    assert wh.rows("select scope, turn from timeouts") == [{"scope": "check", "turn": None}]


def test_several_samples_as_lists(wh, data):
    wh.ingest(data / "kernelbench/model_k_retime_l2")
    r = wh.rows("select sample_id, level, model_raw, runtime_us, speedup, correct, extra from runs order by sample_id")
    assert [(x["sample_id"], x["level"], x["model_raw"]) for x in r] == [(0, 2, "model_k"), (1, 2, "model_k")]
    assert r[0]["speedup"] == pytest.approx(2.0)
    assert (r[1]["runtime_us"], r[1]["speedup"], r[1]["correct"]) == (None, None, False)
    assert json.loads(r[1]["extra"])["metadata"]["max_difference"] == ["nan", "0.5"]


def test_a_file_cut_by_a_full_disk_gives_its_whole_entries(wh, data):
    summary = wh.ingest(data / "kernelbench/cut_l1", data / "kernelbench/empty_l1")
    assert (summary.partial, summary.rejected) == (2, 0)
    assert sorted(wh.column("select problem_id from runs")) == [1, 2, 3]
    assert sorted(wh.column("select code from ingest_issues")) == ["empty_file", "truncated"]


def test_detailed_results(wh, data):
    wh.ingest(data / "kernelbench/detailed")
    r = wh.rows("select sweep, model_raw, level, problem_id, wall_s, correct from runs order by problem_id")
    assert [(x["problem_id"], x["wall_s"], x["correct"]) for x in r] == [(1, 30.0, True), (2, 5.0, None)]
    assert {(x["sweep"], x["model_raw"], x["level"]) for x in r} == {("detailed_level2", "model-d", 2)}
    assert wh.one("select scope from timeouts") == "check"


def test_baseline_timings(wh, data):
    wh.ingest(data / "kernelbench/timing")
    (b,) = wh.rows("select * from baselines")
    assert (b["baseline"], b["level"], b["problem_name"], b["mean_us"]) == ("eager", 1, "1_A.py", 2660.0)
    assert b["hardware"] == "NVIDIA H100 80GB HBM3"


def test_single_batches_of_the_agent_harness(wh, data):
    wh.ingest(data / "kernelbench/batch_run")
    (r,) = wh.rows("select * from runs")
    assert (r["suite"], r["level"], r["source_outcome"], r["n_turns"], r["total_tokens"]) == (
        "popcornbench",
        2,
        "correct",
        4,
        900,
    )


def test_linked_kernels_are_companions(wh, data, tmp_path):
    source = data / "kernelbench/v1_level1_run"
    folder = tmp_path / "linked_l1"
    folder.mkdir()
    (folder / "eval_results.json").write_bytes((source / "eval_results.json").read_bytes())
    (folder / "level_1_problem_2_sample_0_kernel.py").symlink_to(source / "level_1_problem_1_sample_0_kernel.py")
    (folder / "level_1_problem_10_sample_0_kernel.py").symlink_to(tmp_path / "nowhere.py")
    summary = wh.ingest(folder)
    assert dict(summary.ignored) == {}
    assert wh.column("select problem_id from runs where submitted_kernel_sha256 is not null") == [2]
