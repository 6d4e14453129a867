"""Gemini CLI's transcripts."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kbstats.ingest import hashing
from kbstats.ingest.batch import Batch, to_arrow
from kbstats.ingest.format import CONTENT, NO, Source
from kbstats.ingest.formats.gemini import FORMAT

DATA = Path(__file__).resolve().parents[2] / "data" / "gemini"
SEEDS = ["stream.jsonl"]

ODD = st.sampled_from(
    [None, True, 0, -1, 1.5, 2**63, "", "x", "NaN", "\ud800", [], {}, [[]], {"a": {"b": []}}, [None], float("nan"), float("inf")]
)


def read(path: Path) -> Batch:
    source = Source(path, "source", tuple(sorted(FORMAT.companions(path))))
    batch = Batch("source", str(path))
    FORMAT.read(source, batch)
    batch.finish()
    to_arrow([batch])
    return batch


def run_of(batch: Batch):
    (run,) = batch.rows["runs"]
    return run


def codes(batch: Batch) -> list[str]:
    return [i.code for i in batch.rows.get("ingest_issues", [])]


def events(name: str) -> list[dict]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines() if line.startswith("{")]


def places(node, at=()):
    yield at
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from places(value, (*at, key))


@settings(
    max_examples=150, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_mutated_lines_never_raise(tmp_path: Path, data) -> None:
    lines = copy.deepcopy(events(data.draw(st.sampled_from(SEEDS))))
    for _ in range(data.draw(st.integers(1, 5))):
        if not lines:
            break
        *at, last = data.draw(st.sampled_from([p for p in places(lines) if p]))
        node = lines
        for key in at:
            node = node[key]
        if data.draw(st.booleans()):
            node[last] = copy.deepcopy(data.draw(ODD))
        else:
            del node[last]
    text = "\n".join(map(json.dumps, lines)).encode()
    path = tmp_path / "transcript.jsonl"
    path.write_bytes(text[: data.draw(st.integers(0, len(text)))] if data.draw(st.booleans()) else text)
    batch = read(path)
    assert len(batch.rows.get("runs", [])) <= 1


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
