"""Codex's transcripts: rollout files, and the stream of `codex exec --json`."""

from __future__ import annotations

from pathlib import Path

import pytest
from kbstats.ingest import hashing
from kbstats.ingest.format import CONTENT, NO
from kbstats.ingest.formats.codex import FORMAT
from kbstats_test_transcripts import Transcripts, codes, run_of

DATA = Path(__file__).resolve().parents[2] / "data" / "codex"
SEEDS = ["rollout.jsonl", "stream.jsonl"]

case = Transcripts(FORMAT, DATA)
read, events = case.read, case.events
test_mutated_lines_never_raise = case.never_raises(SEEDS)


def test_items_count_and_events_do_not() -> None:
    batch = read(DATA / "rollout.jsonl")
    run = run_of(batch)
    items = [e["payload"] for e in events("rollout.jsonl") if e["type"] == "response_item"]
    assert run.n_tool_calls == sum(i["type"].endswith("_call") for i in items)
    assert [(m.turn, m.kind) for m in batch.rows["messages"]] == [
        (0, "system"), (0, "user"), (0, "reasoning"), (2, "assistant"),
    ]
    assert (run.sweep, run.model_raw, run.harness, run.wall_s) == ("cx-1", "model-x-codex", "codex", 9.0)
    assert run.extra["reasoning_effort"] == "high"
    assert (run.source_outcome, run.correct) == (None, None)


def test_running_totals_that_repeat_count_once() -> None:
    batch = read(DATA / "rollout.jsonl")
    infos = [e["payload"]["info"] for e in events("rollout.jsonl") if e["payload"].get("type") == "token_count"]
    last = [i for i in infos if i][-1]["total_token_usage"]
    run = run_of(batch)
    assert (run.input_tokens, run.output_tokens, run.total_tokens) == (
        last["input_tokens"], last["output_tokens"], last["total_tokens"],
    )
    assert [t.input_tokens for t in batch.rows["turns"]] == [500, 600, 700]
    assert sum(t.total_tokens for t in batch.rows["turns"]) == run.total_tokens


def test_outputs_in_all_their_shapes() -> None:
    shell, patch, broken = read(DATA / "rollout.jsonl").rows["tool_calls"]
    assert (shell.ok, shell.duration_s, shell.args["command"][2]) == (False, 1.5, "nvcc k.cu")
    assert shell.result_text.startswith("k.cu(3)")
    assert (patch.ok, patch.tool, patch.result_text) == (True, "apply_patch", "Success.")
    assert (broken.ok, broken.args) == (False, {"_raw": "{not json"})


def test_a_patched_solution_is_not_followed() -> None:
    assert run_of(read(DATA / "rollout.jsonl")).submitted_kernel_sha256 is None
    assert hashing.source_sha256("x = 1\n") not in read(DATA / "rollout.jsonl").kernels


def test_the_compiler_is_heard() -> None:
    (error,) = read(DATA / "rollout.jsonl").rows["compile_errors"]
    assert (error.turn, error.seq, error.toolchain) == (0, 0, "nvcc")


def test_the_stream() -> None:
    batch = read(DATA / "stream.jsonl")
    run = run_of(batch)
    done = [e["item"] for e in events("stream.jsonl") if e["type"] == "item.completed"]
    assert run.n_tool_calls == sum(i["type"] in {"command_execution", "mcp_tool_call"} for i in done)
    assert [(c.tool, c.ok, c.result_text) for c in batch.rows["tool_calls"]] == [
        ("command_execution", True, "solution.py\n"), ("command_execution", False, "FAIL\n"), ("profile", True, "42 us"),
    ]
    assert (run.sweep, run.model_raw, run.input_tokens, run.output_tokens) == ("cx-2", None, 6040, 129)
    assert batch.rows["turns"][-1].feedback == "stream disconnected"


def test_two_files_of_one_run_folder_are_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "20260102_030405_codex_gpt-9_03_paged"
    folder.mkdir()
    for name, seed in (("transcript.jsonl", "stream.jsonl"), ("codex_session.jsonl", "rollout.jsonl")):
        (folder / name).write_text((DATA / seed).read_text())
    one, two = (run_of(read(folder / n)) for n in ("transcript.jsonl", "codex_session.jsonl"))
    assert one.run_id == two.run_id
    assert (one.model_raw, one.harness, one.problem_name, one.problem_id) == ("gpt-9", "codex", "03_paged", 3)


@pytest.mark.parametrize(
    ("head", "score"),
    [
        (b'{"timestamp":"t","type":"session_meta","payload":{}}', CONTENT),
        (b'{"type":"event_msg"}', NO),
        (b'banner\n{"type":"thread.started","thread_id":"x"}', CONTENT),
        (b'{"type":"item.completed","item":{}}', CONTENT),
        (b'{"type":"message","role":"user"}', NO),
    ],
)
def test_sniff(head: bytes, score: int) -> None:
    assert FORMAT.sniff(Path("x.jsonl"), head) == score


def test_cut_short_keeps_the_run(tmp_path: Path) -> None:
    path = tmp_path / "rollout.jsonl"
    data = (DATA / "rollout.jsonl").read_bytes()
    path.write_bytes(data[: data.index(b'"custom_tool_call_output"')])
    batch = read(path)
    assert (batch.status, codes(batch), run_of(batch).n_turns) == ("partial", ["truncated"], 2)
