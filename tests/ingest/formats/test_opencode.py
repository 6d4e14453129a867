"""opencode's transcripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from kbstats.ingest import hashing
from kbstats.ingest.format import CONTENT, NO
from kbstats.ingest.formats.opencode import FORMAT
from kbstats_test_transcripts import Transcripts, codes, run_of

DATA = Path(__file__).resolve().parents[2] / "data" / "opencode"
SEEDS = ["run.jsonl"]

case = Transcripts(FORMAT, DATA)
read, events = case.read, case.events
test_mutated_lines_never_raise = case.never_raises(SEEDS)


def test_a_step_is_a_turn() -> None:
    batch = read(DATA / "run.jsonl")
    steps = [e["part"] for e in events("run.jsonl") if e["type"] == "step_finish"]
    run = run_of(batch)
    assert run.n_turns == len(batch.rows["turns"]) == len(steps)
    assert [t.total_tokens for t in batch.rows["turns"]] == [s["tokens"]["total"] for s in steps]
    assert run.total_tokens == sum(s["tokens"]["total"] for s in steps)
    assert run.input_tokens == sum(s["tokens"]["input"] + s["tokens"]["cache"]["read"] for s in steps)
    assert run.cost_usd == sum(s["cost"] for s in steps)
    assert (run.sweep, run.harness, run.model_raw, run.wall_s) == ("ses_1", "opencode", None, 8.0)
    assert [t.provider_truncated for t in batch.rows["turns"]] == [None, None, True]
    assert run.extra["stop_reason"] == "length"


def test_a_call_and_its_answer_are_one_event() -> None:
    write, bash, missing = read(DATA / "run.jsonl").rows["tool_calls"]
    assert (write.tool, write.ok, write.duration_s, write.turn) == ("write", True, 0.25, 0)
    assert (bash.ok, bash.metadata, bash.result_text) == (False, {"exit": 1}, "Traceback")
    assert (missing.ok, missing.result_text, missing.seq) == (False, "File not found", 1)


def test_the_solution_is_what_was_written() -> None:
    source = events("run.jsonl")[2]["part"]["state"]["input"]["content"]
    assert run_of(read(DATA / "run.jsonl")).submitted_kernel_sha256 == hashing.source_sha256(source)


def test_an_error_of_the_provider_is_feedback() -> None:
    batch = read(DATA / "run.jsonl")
    assert batch.rows["turns"][-1].feedback == "APIError: insufficient credits"
    assert codes(batch) == ["not_json_lines"]


@pytest.mark.parametrize(
    ("head", "score"),
    [
        (b'{"type":"step_start","timestamp":1,"sessionID":"s","part":{}}', CONTENT),
        (b'banner\n{"type": "text", "sessionID": "s"}', CONTENT),
        (b'{"type":"text","sessionId":"s"}', NO),
        (b'{"type":"tool_use","tool_id":"1"}', NO),
    ],
)
def test_sniff(head: bytes, score: int) -> None:
    assert FORMAT.sniff(Path("x.jsonl"), head) == score
