"""ATIF trajectories and their rewards: every quirk against the file itself, counted another way."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kbstats.ingest import hashing
from kbstats.ingest.format import CONTENT, EXACT, NAME, NO
from kbstats.ingest.formats.atif import FORMAT
from kbstats_test_transcripts import ODD, Transcripts, codes, places, run_of

DATA = Path(__file__).resolve().parents[2] / "data" / "atif"
FULL = DATA / "kernel-suite/results/jobs/model-a/sample2/double__small/trajectory.json"
KERNEL = (DATA / "kernel.py.txt").read_text(encoding="utf-8")


read = Transcripts(FORMAT, DATA).read


def test_the_path_tells_suite_model_sample_and_task() -> None:
    run = run_of(read(FULL))
    assert (run.suite, run.model_raw, run.sample_id, run.problem_name) == ("kernel-suite", "model-a", 1, "double__small")
    assert (run.harness, run.sweep) == ("term-agent", None)
    assert run.extra["agent"]["model_name"] == "vendor/model-a-20260101"


def test_steps_calls_and_tokens_are_those_of_the_file() -> None:
    document = json.loads(FULL.read_text())
    steps = [s for s in document["steps"] if s["source"] == "agent"]
    batch = read(FULL)
    run = run_of(batch)
    assert run.n_turns == len(batch.rows["turns"]) == len(steps)
    assert run.n_tool_calls == sum(len(s["tool_calls"]) for s in steps)
    assert run.input_tokens == sum(s["metrics"]["prompt_tokens"] for s in steps)
    assert run.output_tokens == sum(s["metrics"]["completion_tokens"] for s in steps)
    assert run.cost_usd == pytest.approx(sum(s["metrics"]["cost_usd"] for s in steps))
    assert [t.input_tokens for t in batch.rows["turns"]] == [s["metrics"]["prompt_tokens"] for s in steps]
    assert run.wall_s == 4.0
    assert all(c.ok is None and c.outcome is None for c in batch.rows["tool_calls"])


def test_what_was_said_keeps_its_order_and_kind() -> None:
    said = [(m.turn, m.kind) for m in read(FULL).rows["messages"]]
    assert said == [
        (0, "system"), (0, "user"), (0, "reasoning"), (0, "assistant"), (0, "feedback"), (1, "assistant"), (2, "assistant"),
    ]


def test_a_result_without_a_call_belongs_to_the_only_call_or_to_the_turn() -> None:
    batch = read(FULL)
    calls = {(c.turn, c.seq): c.result_text for c in batch.rows["tool_calls"]}
    assert calls[0, 0] is None
    assert calls[0, 1] is None
    assert calls[2, 0] == "ok"
    assert batch.rows["turns"][0].feedback.startswith("reference.py")


def test_a_verdict_its_speedups_and_its_zero() -> None:
    batch = read(FULL)
    run = run_of(batch)
    assert (run.correct, run.compiled, run.source_outcome) == (True, True, "correct")  # although reward is 0
    assert (run.speedup, run.baseline) == (2.5, "eager")
    assert {(m.subject, m.name): m.value for m in batch.rows["metrics"]} == {
        ("ratio", "speedup.vs_compile"): 0.75, ("candidate", "error.max_abs"): 0.0,
    }
    assert run.extra["reward"]["suspicious"] is False


def test_the_kernel_is_the_here_document_that_the_agent_wrote() -> None:
    batch = read(FULL)
    sha = hashing.source_sha256(KERNEL)
    assert run_of(batch).submitted_kernel_sha256 == sha
    assert [c.kernel_sha256 for c in batch.rows["tool_calls"]] == [None, None, sha, None]
    assert batch.kernels[sha].language == "triton"


def test_a_kernel_that_a_later_script_changed_is_not_known() -> None:
    batch = read(DATA / "patched/trajectory.json")
    assert run_of(batch).submitted_kernel_sha256 is None
    assert run_of(batch).source_outcome is None  # no reward beside it


def test_compilers_are_heard_where_the_terminal_shows_them() -> None:
    (error,) = read(FULL).rows["compile_errors"]
    assert (error.turn, error.seq, error.toolchain, error.line) == (1, 0, "nvcc", 7)


def test_the_second_shape_of_a_reward() -> None:
    batch = read(DATA / "cosine/trajectory.json")
    run = run_of(batch)
    assert (run.correct, run.compiled, run.source_outcome) == (False, False, "compile_fail")
    assert (run.speedup, run.baseline) == (None, None)
    assert run.extra["reward"]["metric"] == "cosine"
    assert "SyntaxError" in run.extra["metadata"]["compilation_error"]
    (error,) = batch.rows["compile_errors"]
    assert (error.toolchain, error.turn, error.line) == ("python", None, 1)
    assert (run.input_tokens, run.output_tokens) == (7, 3)  # no final metrics: the sum of the steps
    assert run.model_raw == "model-b"


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"error": "RuntimeError: Float did not match Half", "static_ok": True}, "runtime_error"),
        ({"error": None}, "incorrect"),
        ({"error": "static check failed: no @triton.jit kernel", "static_ok": False}, "static_failed"),
        ({"error": "CompilationError: at 4:18:\nNameError('x')", "static_ok": True}, "compile_fail"),
        ({"error": None, "correct": None}, None),
    ],
)
def test_outcomes(tmp_path: Path, changed: dict, expected: str | None) -> None:
    (tmp_path / "trajectory.json").write_text(json.dumps({"schema_version": "ATIF-v1.0", "steps": []}))
    (tmp_path / "reward.json").write_text(json.dumps({"reward": 0, "correct": False, **changed}))
    assert run_of(read(tmp_path / "trajectory.json")).source_outcome == expected


def test_no_answer_of_the_model_is_no_turn() -> None:
    batch = read(DATA / "silent/trajectory.json")
    run = run_of(batch)
    assert (run.n_turns, run.total_tokens, "turns" in batch.rows) == (0, 0, False)
    assert [m.kind for m in batch.rows["messages"]] == ["user"]
    assert run.extra["error"].startswith("static check failed")


def test_parts_pictures_and_subagents() -> None:
    batch = read(DATA / "parts/trajectory.json")
    run = run_of(batch)
    assert batch.rows["messages"][0].text == "See this:\n[image: images/a.png]"
    (call,) = batch.rows["tool_calls"]
    assert (call.result_text, call.ok, call.outcome) == ("helped\n[image: images/b.png]", False, "failed")
    assert call.metadata == {"call": {"k": 1}, "result": {"is_error": True}}
    assert run.extra["subagent_refs"] == [{"trajectory_id": "sub-1"}, {"trajectory_path": "trajectory.sub.json"}]
    assert run.extra["subagent_trajectories"][0]["trajectory_id"] == "sub-1"
    assert run.extra["invented_key"] == {"kept": True}
    assert run.extra["notes"] == "a note"


def test_a_trajectory_goes_on_in_another_file() -> None:
    first = DATA / "continued/trajectory.json"
    second = first.with_name("trajectory.cont-1.json")
    assert FORMAT.sniff(second, second.read_bytes()[:4096]) == NO
    batch = read(first)
    assert [m.text for m in batch.rows["messages"]] == ["Start.", "First part.", "Second part."]
    assert run_of(batch).input_tokens == 30


def test_a_missing_part_is_an_issue(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    path.write_text((DATA / "continued/trajectory.json").read_text())
    assert codes(read(path)) == ["missing_part"]


def test_cut_short_with_a_verdict_beside_it() -> None:
    batch = read(DATA / "cut/trajectory.json")
    run = run_of(batch)
    assert (batch.status, codes(batch)) == ("partial", ["truncated"])
    assert (run.correct, run.speedup, run.n_turns, run.harness) == (True, 3.0, None, "term-agent")


def test_cut_short_without_a_verdict(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    path.write_bytes((DATA / "cut/trajectory.json").read_bytes())
    batch = read(path)
    assert (batch.status, "runs" in batch.rows) == ("partial", False)


def test_a_broken_reward_is_an_issue(tmp_path: Path) -> None:
    (tmp_path / "trajectory.json").write_text(FULL.read_text())
    (tmp_path / "reward.json").write_text('{"reward": 1, "cor')
    batch = read(tmp_path / "trajectory.json")
    assert codes(batch) == ["unreadable_companion"]
    assert run_of(batch).correct is None


def test_harbors_own_job_folder(tmp_path: Path) -> None:
    trial = tmp_path / "2026-03-04__05-06" / "double__AbC123"
    (trial / "agent").mkdir(parents=True)
    (trial / "verifier").mkdir()
    (trial / "agent" / "trajectory.json").write_text(FULL.read_text())
    (trial / "verifier" / "reward.json").write_text('{"reward": NaN, "correct": true, "speedup_vs_eager": -1}')
    (trial / "result.json").write_text('{"task_name": "double"}')
    run = run_of(read(trial / "agent" / "trajectory.json"))
    assert (run.problem_name, run.sweep) == ("double", "2026-03-04__05-06/double__AbC123")
    assert (run.correct, run.speedup) == (True, None)
    assert run.extra["result"] == {"task_name": "double"}


def test_sniff(tmp_path: Path) -> None:
    def sniff(name: str, head: bytes) -> int:
        return FORMAT.sniff(tmp_path / name, head)

    assert sniff("any.json", b'{\n "schema_version" : "ATIF-v1.0",') == EXACT
    assert sniff("trajectory.json", b'{"agent": {}, "steps": []}') == CONTENT
    assert sniff("trajectory.json", b'{"steps": 3}') == NO
    assert sniff("trajectory.json", b"") == NO
    (tmp_path / "reward.json").write_text("{}")
    assert sniff("trajectory.json", b"") == NAME
    assert sniff("level_1_problem_2_trajectory.json", b'{"problem_id": 2}') == NO


def test_repairs_are_told(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    text = FULL.read_text().replace('"prompt_tokens": 100', '"prompt_tokens": "100"').replace('"Done."', '"Do\\ud800ne."')
    path.write_text("\ufeff" + text)
    batch = read(path)
    assert Counter(codes(batch)) == {"byte_order_mark": 1, "surrogate": 1, "type_repaired": 1}
    assert batch.rows["turns"][0].input_tokens == 100


@settings(
    max_examples=120, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_mutated_documents_never_raise(tmp_path: Path, data) -> None:
    for name, seed in (("trajectory.json", FULL), ("reward.json", FULL.with_name("reward.json"))):
        document = copy.deepcopy(json.loads(seed.read_text()))
        for _ in range(data.draw(st.integers(0, 3))):
            if not document:
                break
            *at, last = data.draw(st.sampled_from([p for p in places(document) if p]))
            node = document
            for key in at:
                node = node[key]
            if data.draw(st.booleans()):
                node[last] = copy.deepcopy(data.draw(ODD))
            else:
                del node[last]
        text = json.dumps(document).encode()
        (tmp_path / name).write_bytes(text[: data.draw(st.integers(0, len(text)))] if data.draw(st.booleans()) else text)
    batch = read(tmp_path / "trajectory.json")
    assert len(batch.rows.get("runs", [])) <= 1


@pytest.mark.real
def test_the_published_results(real: Path) -> None:
    paths = sorted((real / "harbor_atif").rglob("trajectory.json"))
    runs = Counter()
    for path in paths:
        batch = read(path)
        run, document = run_of(batch), json.loads(path.read_text())
        reward = json.loads(path.with_name("reward.json").read_text())
        agent = [s for s in document["steps"] if s["source"] == "agent"]
        assert codes(batch) == []
        assert run.n_turns == len(agent)
        assert run.n_tool_calls == sum(len(s.get("tool_calls") or []) for s in agent)
        assert run.total_tokens == sum(document["final_metrics"][f"total_{k}_tokens"] for k in ("prompt", "completion"))
        assert run.correct is reward["correct"]
        assert run.speedup == (reward.get("speedup_vs_eager") or reward.get("speedup_vs_compile"))
        assert run.sample_id == int(path.parts[-3].removeprefix("sample")) - 1
        sent = json.dumps(document)
        if (sha := run.submitted_kernel_sha256) is not None:
            assert json.dumps(batch.kernels[sha].source_code)[1:-1] in sent
        runs[run.source_outcome] += 1
    assert sum(runs.values()) == len(paths) == 20
    assert runs == {"correct": 9, "compile_fail": 7, "static_failed": 3, "runtime_error": 1}
