"""CUDA-L1."""

from __future__ import annotations

import json

import pytest
from kbstats.ingest.formats.cuda_l1 import FORMAT


def test_claims_results_and_baselines(claimed, fixtures):
    found = {p.name: s for p, s in claimed(FORMAT, fixtures).items()}
    assert found == {"h100.json": 100, "torch_cuda_graph.json": 60}


def test_one_run_a_line_with_its_speedups(read, fixtures):
    found = read(FORMAT, fixtures / "cuda_l1/h100.json")
    run = found.run(problem_id=1)
    assert (run.speedup, run.baseline, run.correct, run.level) == (2.75, "eager", True, 1)
    assert (run.sweep, run.hardware, run.model_raw) == ("h100", "H100", "CUDA-L1")
    assert found.metrics(run) == {
        ("ratio", "speedup.vs_compile"): 2.75 / 2, ("ratio", "speedup.vs_compile_reduce_overhead"): 2.75 / 4,
        ("ratio", "speedup.vs_cuda_graph"): 2.75 / 8, ("ratio", "speedup.vs_cudnn"): 2.75 / 16,
    }
    problems = {p.variant: p.source_sha256 for p in found["problems"] if p.problem_id == 1}
    assert set(problems) == {"default", "cuda_graph", "cudnn"}
    assert problems["default"] == run.reference_sha256


def test_no_kernel_is_no_pass(read, fixtures):
    run = read(FORMAT, fixtures / "cuda_l1/h100.json").run(problem_id=2)
    assert (run.correct, run.compiled, run.speedup, run.baseline, run.submitted_kernel_sha256) == (False, None, None, None, None)


def test_bad_lines_leave_the_others(read, fixtures):
    found = read(FORMAT, fixtures / "cuda_l1/h100.json")
    assert [r.problem_id for r in found["runs"]] == [1, 2, 3]
    assert found.codes() == {"duplicate_run": 1, "bad_line": 2}
    assert {i.location for i in found.issues if i.code == "bad_line"} == {"line 5", "line 6"}


def test_code_of_a_baseline_alone(read, fixtures):
    found = read(FORMAT, fixtures / "cuda_l1/more_baselines/torch_cuda_graph.json")
    assert [(p.variant, p.problem_id) for p in found["problems"]] == [("cuda_graph", 1)]
    assert not found["runs"]


def test_never_raises(fuzz, lines, fixtures, dump_lines):
    fuzz(FORMAT, "h100.json", lines(fixtures / "cuda_l1/h100.json"), dump_lines)


@pytest.mark.real
def test_real(read, claimed, real):
    files = claimed(FORMAT, real)
    assert set(files) == set((real / "cuda_l1").iterdir())
    path = real / "cuda_l1/h100_first60.jsonl"
    raw = [json.loads(line) for line in path.read_text().splitlines()]
    found = read(FORMAT, path)
    assert len(found["runs"]) == len(raw)
    assert sum(r.speedup or 0 for r in found["runs"]) == pytest.approx(sum(r["score_default"] or 0 for r in raw))
    assert sum(r.correct for r in found["runs"]) == sum(r["custom_code"] is not None for r in raw)
    assert len(found.batch.kernels) == len({r["custom_code"].rstrip() for r in raw if r["custom_code"]})
    assert len(found["problems"]) == sum(bool(r[k]) for r in raw for k in ("ref_code", "cuda_graph_code", "cudnn_code"))
