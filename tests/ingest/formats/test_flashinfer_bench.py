"""flashinfer-bench and SOL-ExecBench."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from kbstats.ingest.formats.flashinfer_bench import FORMAT

TRACES = "flashinfer_bench/dataset/traces/rmsnorm/rmsnorm_h64.jsonl"


def test_claims_traces_definitions_and_solutions(claimed, fixtures):
    found = {str(p.relative_to(fixtures / "flashinfer_bench")): s for p, s in claimed(FORMAT, fixtures).items()}
    assert found == {
        "dataset/definitions/rmsnorm/rmsnorm_h64.json": 60,
        "dataset/solutions/rmsnorm/rmsnorm_h64/demo-1_cuda_ab12cd.json": 30,
        "dataset/traces/rmsnorm/rmsnorm_h64.jsonl": 100, "old/traces/gemm.jsonl": 100,
        "single/traces/rmsnorm/one.json": 100,
    }


def test_a_passed_trace(read, fixtures):
    found = read(FORMAT, fixtures / TRACES)
    run = found.run(sweep="demo-1_cuda_ab12cd@NVIDIA Demo 3", sample_id=0)
    assert (run.runtime_us, run.ref_runtime_us, run.speedup, run.baseline) == (500.0, 2000.0, 4.0, "eager")
    assert (run.suite, run.problem_name, run.variant) == ("flashinfer-bench", "rmsnorm_h64", "aaaaaaaa")
    assert (run.model_raw, run.backend, run.source_outcome) == ("demo-1", "cuda", "PASSED")
    assert found.metrics(run) == {("candidate", "error.max_rel"): 0.01, ("candidate", "error.max_abs"): 0.25}
    assert run.finished_at.isoformat() == "2025-12-21T23:19:22.868584+00:00"


def test_kernel_and_reference_come_from_beside(read, fixtures):
    run = read(FORMAT, fixtures / TRACES).run(sweep="demo-1_cuda_ab12cd@NVIDIA Demo 4")
    definition = read(FORMAT, fixtures / "flashinfer_bench/dataset/definitions/rmsnorm/rmsnorm_h64.json")
    (problem,) = definition["problems"]
    assert (problem.source_sha256, problem.draws_shapes) == (run.reference_sha256, True)
    solution = read(FORMAT, fixtures / "flashinfer_bench/dataset/solutions/rmsnorm/rmsnorm_h64/demo-1_cuda_ab12cd.json")
    assert list(solution.batch.kernels) == [run.submitted_kernel_sha256]
    (kernel,) = solution.batch.kernels.values()
    assert kernel.source_code.startswith("// file: kernel.cu\n"), "the entry point's file first"


def test_statuses(read, fixtures):
    found = read(FORMAT, fixtures / TRACES)
    told = {r.source_outcome: (r.compiled, r.correct, sorted(r.extra.get("metadata", {}))) for r in found["runs"]}
    assert told == {
        "PASSED": (True, True, []), "INCORRECT_NUMERICAL": (True, False, []),
        "COMPILE_ERROR": (False, False, ["compilation_error"]), "RUNTIME_ERROR": (None, False, ["runtime_error"]),
        "TIMEOUT": (None, None, []), "REWARD_HACK": (None, False, ["error"]), "INVALID_REFERENCE": (None, None, []),
    }
    assert [t.scope for t in found["timeouts"]] == ["check"]
    assert found.run(source_outcome="INCORRECT_NUMERICAL").extra["correctness"] == {
        "max_relative_error": "Infinity", "max_absolute_error": "NaN", "has_nan": True,
    }
    assert ("nvcc", 12) in [(e.toolchain, e.line) for e in found["compile_errors"]]


def test_repeated_and_duplicate_traces_and_workloads_alone(read, fixtures):
    found = read(FORMAT, fixtures / TRACES)
    assert found.codes() == {"duplicate_row": 1, "repeated_run": 1, "bad_line": 1}
    assert len(found["runs"]) == 9
    assert len({r.run_id for r in found["runs"]}) == 9


def test_the_first_generation(read, fixtures):
    found = read(FORMAT, fixtures / "flashinfer_bench/old/traces/gemm.jsonl")
    run = found.run()
    assert (run.hardware, run.extra["log_file"], run.speedup) == ("NVIDIA Demo 3", "logs/1.txt", 0.5)
    assert len(run.variant) == 8
    assert not found.issues


def test_the_same_trace_in_a_file_of_its_own_is_the_same_run(read, fixtures):
    one = read(FORMAT, fixtures / "flashinfer_bench/single/traces/rmsnorm/one.json").run()
    assert one.run_id == read(FORMAT, fixtures / TRACES).run(sweep=one.sweep, sample_id=0).run_id


def test_never_raises(fuzz, lines, fixtures, dump_lines):
    fuzz(FORMAT, "traces/rmsnorm_h64.jsonl", lines(fixtures / TRACES), dump_lines)
    for name in ("definitions/rmsnorm/rmsnorm_h64.json", "solutions/rmsnorm/rmsnorm_h64/demo-1_cuda_ab12cd.json"):
        fuzz(FORMAT, "x.json", json.loads((fixtures / "flashinfer_bench/dataset" / name).read_text()), examples=30)


@pytest.mark.real
def test_real(read, claimed, real):
    files = claimed(FORMAT, real)
    assert all(p.is_relative_to(real / "flashinfer_bench") for p in files)
    statuses, want, n_problems = Counter(), Counter(), 0
    for path in files:
        found = read(FORMAT, path)
        assert not found.issues
        statuses.update(r.source_outcome for r in found["runs"])
        n_problems += len(found["problems"])
        text = path.read_text()
        documents = map(json.loads, text.splitlines()) if path.suffix == ".jsonl" else [json.loads(text)]
        want.update(d["evaluation"]["status"] for d in documents if d.get("evaluation"))
    assert statuses == want
    assert n_problems == len([*(real / "flashinfer_bench").rglob("definitions/**/*.json")])
