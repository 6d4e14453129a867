"""KernelBench-Agentic."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from kbstats.ingest.formats.kernelbench_agentic import FORMAT


def test_claims_only_the_generations(claimed, fixtures):
    found = {str(p.relative_to(fixtures)) for p in claimed(FORMAT, fixtures)}
    assert found == {f"kernelbench_agentic/{d}/gen_results.json" for d in ("agentic_demo", "zero_demo", "cut")}


def test_the_best_turn_is_the_submission(read, fixtures):
    found = read(FORMAT, fixtures / "kernelbench_agentic/agentic_demo/gen_results.json")
    run = found.run(problem_id=1)
    assert (run.source_outcome, run.correct, run.speedup, run.max_turns, run.n_turns) == ("correct", True, 1.25, 3, 3)
    calls = [(c.turn, c.tool, c.ok) for c in found["tool_calls"] if c.run_id == run.run_id]
    assert calls == [(0, "evaluate", False), (1, "submit", True), (2, "evaluate", False)]
    assert [t.is_final for t in found["turns"] if t.run_id == run.run_id] == [False, True, False]
    assert run.submitted_kernel_sha256 == next(c.kernel_sha256 for c in found["tool_calls"] if c.tool == "submit")
    said = [(m.turn, m.kind) for m in found["messages"] if m.run_id == run.run_id]
    assert said[:3] == [(0, "user"), (0, "assistant"), (0, "feedback")]
    assert found.codes() == {"type_dropped": 1}


def test_failing_turns_tell_why(read, fixtures):
    found = read(FORMAT, fixtures / "kernelbench_agentic/agentic_demo/gen_results.json")
    run = found.run(problem_id=1)
    first, _, last = [c for c in found["tool_calls"] if c.run_id == run.run_id]
    assert 'identifier "foo" is undefined' in first.result_text
    assert "correctness_issue: Output mismatch" in last.result_text
    assert first.metadata["diagnosis"]["category"] == "compile"
    errors = [(e.turn, e.toolchain, e.line) for e in found["compile_errors"] if e.toolchain == "nvcc"]
    assert errors == [(0, "nvcc", 12)]


def test_a_time_out_stored_as_a_compile_failure(read, fixtures):
    found = read(FORMAT, fixtures / "kernelbench_agentic/agentic_demo/gen_results.json")
    run = found.run(problem_id=2)
    assert (run.source_outcome, run.compiled) == ("compile_failed", False)
    (timeout,) = found["timeouts"]
    assert (timeout.run_id, timeout.turn, timeout.scope, timeout.budget_s) == (run.run_id, 0, "check", 180.0)
    assert run.extra["metadata"]["error"] == "Evaluation timed out after 180 s"


def test_zero_shot_takes_its_verdicts_from_the_summary(read, fixtures):
    found = read(FORMAT, fixtures / "kernelbench_agentic/zero_demo/gen_results.json")
    right, wrong = found.run(problem_id=1), found.run(problem_id=2)
    assert (right.correct, right.speedup, right.runtime_us, right.mode) == (True, 1.0, 2000.0, "single")
    assert right.source_outcome is None, "`success` is that of the generation"
    assert (wrong.correct, wrong.runtime_us, wrong.ref_runtime_us) == (False, None, 3000.0)
    assert (wrong.hardware, wrong.extra["category"]) == ("DEMO_GPU", "wrong_output")
    assert found.codes() == {"missing_problem": 1}


def test_a_file_cut_short_yields_no_run(read, fixtures):
    found = read(FORMAT, fixtures / "kernelbench_agentic/cut/gen_results.json")
    assert (found.status, found["runs"], found.codes()) == ("partial", [], {"truncated": 1})


def test_never_raises(fuzz, fixtures):
    document = json.loads((fixtures / "kernelbench_agentic/agentic_demo/gen_results.json").read_text())
    fuzz(FORMAT, "gen_results.json", document)


@pytest.mark.real
def test_real(read, claimed, real):
    files = claimed(FORMAT, real)
    assert {p.parent.name for p in files} == {"zero_shot", "agentic_qwen"}
    for path in files:
        raw = [p for ps in json.loads(path.read_text())["levels"].values() for p in ps.values()]
        found = read(FORMAT, path)
        assert len(found["runs"]) == len(raw)
        assert Counter(r.source_outcome for r in found["runs"]) == Counter(p.get("final_status") for p in raw)
        assert len(found["tool_calls"]) == sum(len(p.get("turns", [])) for p in raw)
        if path.parent.name == "zero_shot":
            verdicts = json.loads(path.with_name("summary.json").read_text())["per_problem"]
            assert sum(bool(r.correct) for r in found["runs"]) == sum(v["correct"] for v in verdicts)
        else:
            assert sum(c.ok for c in found["tool_calls"] if c.tool == "submit") == sum(
                p["final_status"] == "correct" for p in raw
            )
