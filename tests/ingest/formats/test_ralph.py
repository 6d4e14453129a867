"""Results of the ralph kind."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from kbstats.ingest.formats.ralph import FORMAT


def test_claims_results_and_single_problems_without_results(claimed, fixtures):
    found = {str(p.relative_to(fixtures)) for p in claimed(FORMAT, fixtures)}
    assert found == {
        "ralph/ralph_demo/results.jsonl", "ralph/ralph_again/results.jsonl",
        "ralph/ralph_single/per_problem/level_1/problem_4.json",
    }


def test_a_problem_s_own_file_beside_the_results_is_theirs(tmp_path, fixtures):
    text = (fixtures / "ralph/ralph_single/per_problem/level_1/problem_4.json").read_bytes()
    path = tmp_path / "per_problem" / "level_1" / "problem_4.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    assert FORMAT.sniff(path, text)
    (tmp_path / "results.jsonl").write_text("{}")
    assert not FORMAT.sniff(path, text)


def test_the_nearest_results_count_even_three_folders_up(read, fixtures):
    run = read(FORMAT, fixtures / "ralph/ralph_single/per_problem/level_1/problem_4.json").run()
    assert (run.sweep, run.problem_id, run.source_outcome) == ("ralph_single", 4, "static_failed")


def test_units_flags_and_files_beside(read, fixtures):
    found = read(FORMAT, fixtures / "ralph/ralph_demo/results.jsonl")
    run = found.run(problem_id=1)
    assert (run.runtime_us, run.ref_runtime_us, run.speedup, run.baseline) == (500.0, 1250.0, 2.5, "eager")
    assert (run.compiled, run.correct, run.source_outcome) == (True, True, None)
    assert (run.mode, run.sweep, run.model_raw, run.level, run.wall_s) == ("single", "ralph_demo", "demo-7b", 1, 1.5)
    kernel = found.batch.kernels[run.submitted_kernel_sha256]
    assert kernel.source_code.endswith("x * 2\n")
    assert [m.text[:10] for m in found["messages"]] == ["Here it is"]
    assert found.metrics(run)["candidate", "runtime.mean"] == 500.0
    assert run.extra["config"]["gpu_arch"] == "Ada"


def test_a_sentinel_is_no_runtime(read, fixtures):
    run = read(FORMAT, fixtures / "ralph/ralph_demo/results.jsonl").run(problem_id=2)
    assert run.runtime_us is run.ref_runtime_us is run.speedup is None
    assert run.extra["metadata"]["correctness_issue"] == "Output mismatch"


def test_failures_stand_where_the_taxonomy_looks(read, fixtures):
    found = read(FORMAT, fixtures / "ralph/ralph_demo/results.jsonl")
    errors = {r.problem_id: r.extra["metadata"].get("error", "") for r in found["runs"]}
    assert errors[4].startswith("Missing __global__")
    assert "illegal memory access" in errors[5]
    assert errors[6].startswith("No extractable code")
    diagnostics = [(e.toolchain, e.line) for e in found["compile_errors"] if e.run_id == found.run(problem_id=3).run_id]
    assert ("nvcc", 12) in diagnostics
    (timeout,) = found["timeouts"]
    assert (timeout.run_id, timeout.scope, timeout.budget_s) == (found.run(problem_id=7).run_id, "check", 300.0)
    assert found.run(problem_id=5).hardware == "NVIDIA Demo 1"
    assert found.run(problem_id=5).extra["hardware_from"] == "file"


def test_repeated_duplicate_bad_and_cut_lines(read, fixtures):
    found = read(FORMAT, fixtures / "ralph/ralph_again/results.jsonl")
    assert found.status == "partial"
    assert found.codes() == {"duplicate_row": 1, "repeated_run": 1, "bad_line": 3, "non_finite": 1, "truncated": 1}
    assert sorted((r.problem_id, r.sample_id) for r in found["runs"]) == [(1, 0), (1, 1), (2, 0)]
    assert found.run(problem_id=1, sample_id=0).submitted_kernel_sha256 is None, "its file was overwritten"
    assert found.run(problem_id=1, sample_id=1).submitted_kernel_sha256
    assert found.run(problem_id=2).speedup is None
    assert {i.location for i in found.issues if i.code == "bad_line"} == {"line 4", "line 5", "line 6"}


def test_never_raises(fuzz, lines, fixtures, dump_lines):
    fuzz(FORMAT, "results.jsonl", lines(fixtures / "ralph/ralph_demo/results.jsonl"), dump_lines)


@pytest.mark.real
def test_real(read, claimed, real):
    files = claimed(FORMAT, real)
    assert {p.parent.parent.name for p in files} == {"ralph"}
    assert len(files) == 3
    for path in files:
        raw = [json.loads(line) for line in path.read_text().splitlines()]
        found = read(FORMAT, path)
        assert not found.issues
        assert len({r.run_id for r in found["runs"]}) == len(raw)
        want = Counter(None if r["status"] == "evaluated" else r["status"] for r in raw)
        assert Counter(r.source_outcome for r in found["runs"]) == want
        assert sum(r.correct is True for r in found["runs"]) == sum(
            (r.get("eval_result") or {}).get("correctness") is True for r in raw
        )
