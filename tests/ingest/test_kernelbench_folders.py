"""Kernels without results, several samples with pass@k, eras of timings, progress of a search."""

from __future__ import annotations

import json

import pytest
from kbstats.ingest.formats.kernelbench_baselines import era_of

KERNEL = "import torch\nclass ModelNew(torch.nn.Module):\n    pass\n"


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "runs/some-model_level2"
    folder.mkdir(parents=True)
    for problem in (1, 2):
        for sample in (0, 1):
            (folder / f"level_2_problem_{problem}_sample_{sample}_kernel.py").write_text(KERNEL + f"# {problem} {sample}\n")
    return folder


def test_kernels_alone(wh, folder):
    (folder / "generation_config.yaml").write_text("model_name: acme/m\nbackend: triton\nlevel: 2\n")
    wh.ingest(folder)
    rows = wh.rows("select problem_id, sample_id, level, model_raw, backend, sweep, correct, source_outcome from runs order by 1, 2")
    assert [(r["problem_id"], r["sample_id"]) for r in rows] == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert {(r["level"], r["model_raw"], r["backend"], r["sweep"], r["correct"], r["source_outcome"]) for r in rows} == {
        (2, "acme/m", "triton", "some-model_level2", None, None)
    }
    assert wh.one("select count(*) from kernels") == 4


def test_results_take_the_place_of_kernels_alone(wh, folder):
    wh.ingest(folder)
    samples = [{"sample_id": s, "compiled": True, "correctness": s == 1, "runtime": 2.0 if s else -1.0, "metadata": {}} for s in (0, 1)]
    (folder / "eval_results.json").write_text(json.dumps({"1": samples, "2": samples}))
    summary = wh.ingest(folder)
    assert summary.removed == 4
    assert wh.rows("select format, count(*) as n, count(submitted_kernel_sha256) as k from runs group by 1") == [{"format": "kernelbench", "n": 4, "k": 4}]
    assert wh.ingest(folder).removed == 0


def test_pass_at_k(wh, folder):
    samples = [{"sample_id": s, "compiled": True, "correctness": s == 1, "runtime": -1.0, "metadata": {}} for s in (1, 0)]
    (folder / "eval_results.json").write_text(json.dumps({"1": samples, "2": samples}))
    (folder / "pass_at_k_results.json").write_text(json.dumps({"metadata": {"k": [1, 2]}, "averages": {"pass@1": 0.5}, "results": {"1": {"pass@1": 0.5, "pass@2": 1.0}, "2": {"n": 2, "pass_at_k": {"pass@1": 0.5, "pass@2": 7}}}}))
    wh.ingest(folder)
    rows = wh.rows("select problem_id, sample_id, name, value from metrics join runs using (run_id) order by 1, 3")
    assert [tuple(r.values()) for r in rows] == [(1, 0, "pass_at.1", 0.5), (1, 0, "pass_at.2", 1.0), (2, 0, "pass_at.1", 0.5)]


@pytest.mark.parametrize(
    ("times", "era"),
    [([0.0116, 0.0121, 0.0114], "0"), ([4.28, 4.3, 8.5], "0.1"), ([0.011, None, 4.3, 4.3], "0.1"), ([0.01, 0.01], None), ([], None)],
)
def test_eras(times, era):
    # 6.4 GB read and written take over 1.6 ms at 8 TB/s; 2 MB take less than 0.1 ms at 0.1 TB/s
    document = {"level1": {f"{19 + i}_x.py": None if t is None else {"mean": t} for i, t in enumerate(times)}}
    assert era_of(document) == era


def test_progress_of_a_search(wh, tmp_path):
    path = tmp_path / "runs/s_all/original/m/level_1_problem_1_trajectory.json"
    path.parent.mkdir(parents=True)
    evolved = {"type": "function_call", "name": "evaluate_ae_candidate", "arguments": json.dumps({"_program": "p1", "_outcome": "correct", "_speedup": 1.5})}
    document = {"problem_id": 1, "level": 1, "run_name": "s_all", "model_name": "m", "max_turns": 2, "outcome": "correct", "turns": [{"turn_id": 0, "response": [evolved]}]}
    path.write_text(json.dumps(document))
    lines = [
        {"idx": 0, "program_name": "p1", "kernel_src": KERNEL + "# 1\n", "compiled": True, "correct": True, "speedup": 1.5, "elapsed_s": 3.0, "error": None},
        {"idx": 1, "program_name": "p2", "kernel_src": KERNEL + "# 2\n", "compiled": False, "correct": False, "speedup": None, "elapsed_s": 4.0, "error": "NameError: x"},
    ]
    path.with_name("level_1_problem_1_aeprogress.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines) + '{"idx": 2, "pro')
    wh.ingest(tmp_path)
    rows = wh.rows("select turn, seq, tool, ok, outcome, kernel_sha256 is not null as k, duration_s, args ->> '$._program' as p from tool_calls order by seq")
    assert [tuple(r.values()) for r in rows] == [
        (0, 0, "evaluate_ae_candidate", True, "passed", True, 3.0, "p1"),
        (0, 1, "evaluate_ae_candidate", False, "failed", True, 4.0, "p2"),
    ]
    assert wh.rows("select code, path like '%aeprogress.jsonl' as p from ingest_issues") == [{"code": "truncated", "p": True}]
    assert wh.one("select status from sources") == "ok", "the trajectory itself is whole"
