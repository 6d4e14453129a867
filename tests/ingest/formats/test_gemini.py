"""Gemini CLI's transcripts."""

from __future__ import annotations

from pathlib import Path

import pytest
from kbstats.ingest import hashing
from kbstats.ingest.format import CONTENT, NO
from kbstats.ingest.formats.gemini import FORMAT
from kbstats_test_transcripts import Transcripts, codes, run_of

DATA = Path(__file__).resolve().parents[2] / "data" / "gemini"
SEEDS = ["stream.jsonl"]

case = Transcripts(FORMAT, DATA)
read, events = case.read, case.events
test_mutated_lines_never_raise = case.never_raises(SEEDS)


def test_pieces_are_put_together() -> None:
    batch = read(DATA / "stream.jsonl")
    pieces = "".join(e["content"] for e in events("stream.jsonl") if e.get("role") == "assistant")
    said = [m for m in batch.rows["messages"] if m.kind == "assistant"]
    assert "".join(m.text for m in said) == pieces
    assert [(m.turn, m.text) for m in said] == [(0, "I write it."), (1, "It fails.")]
    assert batch.rows["messages"][0].kind == "user"


def test_a_turn_ends_where_tools_have_answered() -> None:
    batch = read(DATA / "stream.jsonl")
    run = run_of(batch)
    assert (run.n_turns, [c.turn for c in batch.rows["tool_calls"]]) == (2, [0, 0])
    assert run.n_tool_calls == events("stream.jsonl")[-1]["stats"]["tool_calls"]


def test_totals() -> None:
    run, stats = run_of(read(DATA / "stream.jsonl")), events("stream.jsonl")[-1]["stats"]
    assert (run.input_tokens, run.output_tokens, run.total_tokens) == tuple(
        stats[f"{k}_tokens"] for k in ("input", "output", "total")
    )
    assert (run.wall_s, run.model_raw, run.sweep, run.harness) == (7.0, "model-g", "gm-1", "gemini")
    assert run.extra["result"] == {"status": "success"}
    assert (run.source_outcome, run.correct) == (None, None)


def test_tools_and_errors() -> None:
    batch = read(DATA / "stream.jsonl")
    write, shell = batch.rows["tool_calls"]
    assert (write.ok, shell.ok, shell.result_text) == (True, False, "exit code 1")
    assert write.kernel_sha256 == run_of(batch).submitted_kernel_sha256 == hashing.source_sha256(write.args["content"])
    assert batch.rows["turns"][-1].feedback == "Maximum session turns exceeded"
    assert codes(batch) == []


@pytest.mark.parametrize(
    ("head", "score"),
    [
        (b'{"type":"init","timestamp":"t","session_id":"s","model":"m"}', CONTENT),
        (b'Loaded cached credentials.\n{"type":"init","session_id":"s","model":"m"}', CONTENT),
        (b'{"type":"system","subtype":"init","session_id":"s","model":"m"}', NO),
    ],
)
def test_sniff(head: bytes, score: int) -> None:
    assert FORMAT.sniff(Path("x.jsonl"), head) == score
