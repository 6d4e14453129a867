"""Claude Code's transcripts: the stream, session files, subagents, and a benchmark's run folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kbstats.ingest import hashing
from kbstats.ingest.format import CONTENT, NO
from kbstats.ingest.formats.claude_code import FORMAT
from kbstats_test_transcripts import Transcripts, codes, run_of

DATA = Path(__file__).resolve().parents[2] / "data" / "claude_code"
SEEDS = ["stream.jsonl", "session.jsonl", "agent-ab12cd34.jsonl"]
FOLDER = "20260102_030405_zai-claude_glm-9_1m__07_double_small"
case = Transcripts(FORMAT, DATA)
read, events = case.read, case.events
test_mutated_lines_never_raise = case.never_raises(SEEDS)


def test_lines_of_one_message_are_one_turn() -> None:
    lines = events("stream.jsonl")
    batch = read(DATA / "stream.jsonl")
    ids = [e["message"]["id"] for e in lines if e["type"] == "assistant" and e["message"]["model"] != "<synthetic>"]
    run = run_of(batch)
    assert run.n_turns == len(batch.rows["turns"]) == len(set(ids)) < len(ids)
    assert run.n_tool_calls == sum(
        b["type"] == "tool_use" for e in lines if e["type"] == "assistant" for b in e["message"]["content"]
    )
    assert (run.suite, run.sweep, run.harness, run.model_raw) == ("transcripts", "sess-1", "claude_code", "model-c-1")
    assert (run.source_outcome, run.correct) == (None, None)
    assert run.extra["n_subagent_turns"] == 1


def test_usage_counts_once_a_message_and_totals_are_the_results() -> None:
    batch = read(DATA / "stream.jsonl")
    first, run = batch.rows["turns"][0], run_of(batch)
    assert (first.input_tokens, first.output_tokens) == (10 + 100 + 1000, 40)
    result = events("stream.jsonl")[-1]
    assert run.input_tokens == sum(v for k, v in result["usage"].items() if "input" in k)
    assert (run.output_tokens, run.cost_usd, run.wall_s) == (77, 0.5, 65.0)
    assert run.extra["results"][0]["subtype"] == "success"


def test_without_a_result_the_turns_are_summed() -> None:
    batch = read(DATA / "session.jsonl")
    run = run_of(batch)
    assert run.input_tokens == sum(t.input_tokens for t in batch.rows["turns"]) == 1110 + 1105
    assert (run.cost_usd, run.wall_s) == (None, 8.0)


def test_what_was_said() -> None:
    said = [(m.turn, m.kind, m.text) for m in read(DATA / "stream.jsonl").rows["messages"]]
    assert said == [
        (0, "reasoning", "Write first, then test."), (0, "assistant", "I write the kernel."),
        (2, "feedback", "API Error: 529 overloaded"), (3, "assistant", "A helper speaks."), (4, "assistant", "PASS, I think."),
    ]


def test_tools_their_time_limit_and_their_compiler() -> None:
    batch = read(DATA / "stream.jsonl")
    write, edit, bash = batch.rows["tool_calls"]
    assert (write.ok, edit.result_text, bash.ok, bash.outcome) == (True, "edited\n[image]", False, "timeout")
    (limit,) = batch.rows["timeouts"]
    assert (limit.scope, limit.budget_s, limit.turn, limit.seq) == ("tool", 120.0, 2, 0)
    (error,) = batch.rows["compile_errors"]
    assert (error.toolchain, error.line) == ("gcc", 3)


def test_a_program_that_prints_of_a_time_limit_ran_into_none(tmp_path: Path) -> None:
    printed = "line\\n" * 3 + "Command timed out after 5s\\n" + "line\\n" * 3
    text = (DATA / "stream.jsonl").read_text().replace("Command timed out after 2m 0.0s", printed + "end")
    path = tmp_path / "stream.jsonl"
    path.write_text(text)
    batch = read(path)
    assert "timeouts" not in batch.rows
    assert batch.rows["tool_calls"][2].outcome == "failed"


def test_the_solution_is_followed_through_edits() -> None:
    batch = read(DATA / "stream.jsonl")
    source = batch.rows["tool_calls"][0].args["content"]
    assert run_of(batch).submitted_kernel_sha256 == hashing.source_sha256(source.replace("x + x", "2 * x"))
    assert batch.rows["tool_calls"][0].kernel_sha256 == hashing.source_sha256(source)


def test_a_banner_is_one_issue() -> None:
    (issue,) = read(DATA / "stream.jsonl").rows["ingest_issues"]
    assert (issue.code, issue.location) == ("not_json_lines", "line 2")
    assert issue.message.startswith("3 lines")


def test_a_run_folder_names_harness_model_and_problem() -> None:
    path = DATA / FOLDER / "transcript.jsonl"
    batch = read(path)
    run = run_of(batch)
    assert (run.sweep, run.harness, run.model_raw) == (FOLDER, "zai-claude", "glm-9[1m]")
    assert (run.problem_name, run.problem_id) == ("07_double_small", 7)
    assert run.extra["model_in_transcript"] == "model-c-1"
    assert run.submitted_kernel_sha256 == hashing.source_sha256(path.with_name("solution.py").read_text())
    assert (batch.status, codes(batch)) == ("partial", ["truncated"])


def test_a_run_folder_without_a_result(tmp_path: Path) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "transcript.jsonl").write_text((DATA / "stream.jsonl").read_text())
    run = run_of(read(folder / "transcript.jsonl"))
    assert (run.model_raw, run.problem_name) == ("glm-9_1m_", "07_double_small")
    (folder / "result.json").write_text("{")
    batch = read(folder / "transcript.jsonl")
    assert "unreadable_companion" in codes(batch)
    assert run_of(batch).model_raw == "glm-9_1m_"


def test_a_session_file() -> None:
    batch = read(DATA / "session.jsonl")
    run = run_of(batch)
    assert (run.sweep, run.truncated, run.n_turns) == ("sess-2", True, 2)
    assert run.extra["version"] == "2.0.9"
    assert run.extra["models"] == {"model-c-1": 1, "model-c-2": 1}
    assert [m.kind for m in batch.rows["messages"]] == ["user", "assistant", "assistant"]


def test_a_subagents_file_is_another_run_than_its_parents() -> None:
    parent, child = (run_of(read(DATA / n)) for n in ("session.jsonl", "agent-ab12cd34.jsonl"))
    assert child.sweep == "sess-2/ab12cd34"
    assert child.run_id != parent.run_id


@pytest.mark.parametrize(
    ("head", "score"),
    [
        (b'{"type":"system","subtype":"init","mcp_servers":[]}', CONTENT),
        (b'banner\n{"type": "system", "subtype": "init", "claude_code_version": "1"}', CONTENT),
        (b'{"type":"system","subtype":"init","apiKeySource":"login","permissionMode":"default"}', NO),
        (b'{"type":"system","subtype":"init","reasoning_effort":"high"}', NO),
        (b'{"parentUuid":null,"sessionId":"a"}', CONTENT),
        (b'{"type":"summary","summary":"s","leafUuid":"u"}', CONTENT),
        (b'{"type":"summary","summary":"s"}', NO),
        (b'{"type":"init","session_id":"s","model":"m"}', NO),
    ],
)
def test_sniff(head: bytes, score: int) -> None:
    assert FORMAT.sniff(Path("x.jsonl"), head) == score


def test_no_event_and_no_content(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"type": "other"}\nplain\n')
    assert (read(path).status, codes(read(path))[-1]) == ("rejected", "no_events")
    path.write_text("")
    assert (read(path).status, codes(read(path))) == ("partial", ["empty_file"])


def test_hostile_texts_are_data(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    evil = "<script>alert(1)</script>'; drop table runs; --\x00\x1b[31m"
    line = json.dumps({"type": "assistant", "message": {"id": "1", "model": evil, "content": evil}, "session_id": evil})
    path.write_bytes(b"\xef\xbb\xbf" + line.encode() + b'\n{"type":"user","message":{"content":"\\ud800"},"total_cost_usd":1e999}\n')
    batch = read(path)
    assert batch.rows["messages"][0].text == evil
    assert run_of(batch).model_raw == evil
    assert {"byte_order_mark", "surrogate"} <= set(codes(batch))
