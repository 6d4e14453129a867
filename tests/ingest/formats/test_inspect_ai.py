"""inspect_ai logs: archives of both compressions, running ones, documents, and archives that mean harm."""

from __future__ import annotations

import copy
import io
import json
import struct
import zipfile
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kbstats.ingest import hashing
from kbstats.ingest.batch import Batch
from kbstats.ingest.format import CONTENT, EXACT, NAME, NO, Source
from kbstats.ingest.formats import inspect_ai
from kbstats.ingest.formats.inspect_ai import FORMAT
from kbstats.ingest.formats.inspect_ai_sample import verdict
from kbstats.ingest.formats.inspect_ai_zip import Archive, MemberError
from kbstats_test_transcripts import ODD, Transcripts, codes, places

DATA = Path(__file__).resolve().parents[2] / "data" / "inspect_ai"
LOG = json.loads((DATA / "log.json").read_text())
EVALS = ["deflate.eval", "zstd.eval", "running.eval", "log.json"]


read = Transcripts(FORMAT, DATA).read


def archive(path: Path, members: dict[str, object], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as z:
        for name, content in members.items():
            z.writestr(name, content if isinstance(content, bytes) else json.dumps(content))
    return path


def header(**changes: object) -> dict:
    return {**{k: v for k, v in LOG.items() if k != "samples"}, **changes}


@pytest.mark.parametrize("name", EVALS)
def test_all_containers_tell_the_same(name: str) -> None:
    batch = read(DATA / name)
    runs = {(r.problem_name, r.sample_id): r for r in batch.rows["runs"]}
    assert set(runs) == {(str(s["id"]), s["epoch"] - 1) for s in LOG["samples"]}
    assert {r.run_id for r in batch.rows["runs"]} == {r.run_id for r in read(DATA / "log.json").rows["runs"]}
    first = runs["double", 0]
    assert (first.suite, first.sweep, first.model_raw, first.harness, first.level) == (
        "kernels", "run-1", "vendor/model-i", "inspect_ai", 2,
    )
    assert codes(batch) == (["log_running"] if name == "running.eval" else [])
    assert first.extra["eval"]["status"] == ("started" if name == "running.eval" else "success")


def test_conversation() -> None:
    batch = read(DATA / "deflate.eval")
    run = batch.rows["runs"][0]
    mine = [m for m in batch.rows["messages"] if m.run_id == run.run_id]
    assert [(m.turn, m.kind, m.text) for m in mine] == [
        (0, "system", "You write kernels."), (0, "user", "A long task text."), (0, "reasoning", "Think first."),
        (0, "assistant", "A long answer."), (1, "assistant", "Handing in."),
    ]
    messages = LOG["samples"][0]["messages"]
    assert run.n_turns == sum(m["role"] == "assistant" for m in messages)
    assert run.n_tool_calls == sum(len(m.get("tool_calls", [])) for m in messages)


def test_tools_and_their_time_limit() -> None:
    batch = read(DATA / "deflate.eval")
    calls = {c.tool: c for c in batch.rows["tool_calls"]}
    assert (calls["bash"].ok, calls["bash"].outcome) == (False, "timeout")
    assert calls["bash"].result_text == "Command timed out before completing."
    assert (calls["python"].ok, calls["python"].metadata["error"]) == (True, "invalid_json_arguments")
    assert (calls["submit"].ok, calls["submit"].outcome) == (None, None)  # handing in is no verdict
    by_scope = {t.scope: t for t in batch.rows["timeouts"]}
    assert (by_scope["tool"].turn, by_scope["tool"].seq) == (0, 0)
    assert by_scope["session"].budget_s == 600
    ids = {r.run_id for r in batch.rows["runs"]}
    assert {t.run_id for t in batch.rows["timeouts"]} <= ids


def test_verdicts_tokens_and_times() -> None:
    done, limited, failed = read(DATA / "deflate.eval").rows["runs"]
    assert (done.correct, done.source_outcome, done.wall_s) == (True, "correct", 60.0)
    used = LOG["samples"][0]["model_usage"].values()
    assert done.total_tokens == sum(u["total_tokens"] for u in used)
    assert done.input_tokens + done.output_tokens == done.total_tokens  # cached input is input
    assert (limited.correct, limited.source_outcome) == (None, "timeout")
    assert limited.extra["scores"]["check"]["value"] == 0.5
    assert (failed.correct, failed.source_outcome, failed.problem_id) == (None, "error", 2)
    assert failed.extra["error"] == "SandboxError('gone')"
    assert failed.extra["error_retries"] == ["first"]
    assert failed.extra["new_key"] == [1, 2]


def test_the_answer_that_was_scored_is_the_kernel() -> None:
    source = LOG["samples"][0]["scores"]["check"]["answer"]
    assert read(DATA / "zstd.eval").rows["runs"][0].submitted_kernel_sha256 == hashing.source_sha256(source)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["C"], True), (["I"], False), (["N"], False), (["P"], None), ([True], True), ([False], False), ([1.0], True),
        ([0], False), ([0.5], None), ([1, 0], None), (["C", "I"], None), (["C", True], True), (["C", 0.3], True),
        ([{"a": 1}], None), ([float("nan")], None), ([], None), ([[]], None),
    ],
)
def test_verdict(values: list, expected: bool | None) -> None:
    assert verdict({str(i): {"value": v} for i, v in enumerate(values)}) is expected


def test_a_document_cut_short_keeps_its_header() -> None:
    text = (DATA / "log.json").read_text()
    batch = Batch("s", "log.json")
    source = Source(DATA / "log.json", "s")
    source._cache[source.path] = text[: len(text) // 2].encode()
    FORMAT.read(source, batch)
    assert (batch.status, codes(batch), "runs" in batch.rows) == ("partial", ["truncated"], False)


def test_an_archive_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "cut.eval"
    path.write_bytes((DATA / "deflate.eval").read_bytes()[:1500])
    batch = read(path)
    assert (batch.status, codes(batch)) == ("partial", ["truncated"])
    path.write_bytes(b"")
    assert codes(read(path)) == ["empty_file"]
    path.write_bytes(b"plain text")
    assert (read(path).status, codes(read(path))) == ("rejected", ["not_zip"])


def test_one_damaged_sample_does_not_take_the_others(tmp_path: Path) -> None:
    samples = LOG["samples"]
    path = archive(tmp_path / "x.eval", {
        "header.json": header(), "samples/a_epoch_1.json": samples[0], "samples/b_epoch_1.json": b'{"id": 1, "epo',
        "samples/c_epoch_1.json": samples[2],
    })
    data = bytearray(path.read_bytes())
    at = data.find(b"samples/a_epoch_1.json") + 60
    data[at : at + 4] = b"\xff\xff\xff\xff"
    path.write_bytes(data)
    batch = read(path)
    assert (batch.status, sorted(codes(batch))) == ("partial", ["bad_member", "member_damaged"])
    assert [r.problem_name for r in batch.rows["runs"]] == ["2"]


def test_neither_header_nor_journal(tmp_path: Path) -> None:
    batch = read(archive(tmp_path / "x.eval", {"samples/a_epoch_1.json": LOG["samples"][0]}))
    assert (batch.status, codes(batch)) == ("rejected", ["not_an_eval_log"])


def test_of_two_members_of_one_name_the_later_counts(tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("header.json", json.dumps(header(status="started")))
        z.writestr("samples/a_epoch_1.json", json.dumps(LOG["samples"][0]))
        with pytest.warns(UserWarning, match="Duplicate"):
            z.writestr("header.json", json.dumps(header(status="cancelled")))
    (run,) = read(path).rows["runs"]
    assert run.extra["eval"]["status"] == "cancelled"


def test_the_same_sample_twice(tmp_path: Path) -> None:
    batch = read(archive(tmp_path / "x.eval", {
        "header.json": header(), "samples/a_epoch_1.json": LOG["samples"][0], "samples/b_epoch_1.json": LOG["samples"][0],
    }))
    assert (len(batch.rows["runs"]), codes(batch)) == (1, ["duplicate_run"])
    assert len(batch.rows["turns"]) == 2


@pytest.mark.parametrize("method", [8, 93])
def test_bombs_stop_at_the_limit(method: int) -> None:
    """A member that claims to be small and is not; and many that are too much together."""
    raw = b"0" * 3_000_000
    if method == 93:
        packed = zstandard.ZstdCompressor().compress(raw)
    else:
        deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = deflate.compress(raw) + deflate.flush()
    data = one_member(packed, method, claimed=10, crc=zlib.crc32(raw))
    with pytest.raises(MemberError) as caught:
        Archive(data, member_bytes=1_000_000).read("m")
    assert caught.value.code == "member_too_large"
    with pytest.raises(MemberError) as caught:
        Archive(data, total_bytes=1_000_000).read("m")
    assert caught.value.code == "archive_too_large"
    assert Archive(data).read("m") == raw


def test_a_bomb_is_an_issue_and_the_rest_is_read(tmp_path: Path, monkeypatch) -> None:
    small = {**LOG["samples"][2]}
    big = {**LOG["samples"][0], "input": "0" * 200_000}
    path = archive(tmp_path / "x.eval", {
        "header.json": header(), "samples/a_epoch_1.json": big, "samples/b_epoch_1.json": small,
    })
    monkeypatch.setattr(inspect_ai, "Archive", lambda data: Archive(data, member_bytes=100_000))
    batch = read(path)
    assert (batch.status, codes(batch), len(batch.rows["runs"])) == ("partial", ["member_too_large"], 1)


@pytest.mark.parametrize(
    ("change", "code"),
    [({"method": 12}, "member_method"), ({"flags": 1}, "member_encrypted"), ({"crc": 5}, "member_damaged"),
     ({"claimed": 2**31}, "member_too_large"), ({"packed": b"\x07garbage"}, "member_damaged")],
)
def test_members_that_cannot_be_read(change: dict, code: str) -> None:
    args = {"packed": zlib.compress(b"x", wbits=-15), "method": 8, "crc": zlib.crc32(b"x"), "claimed": 1, **change}
    with pytest.raises(MemberError) as caught:
        Archive(one_member(**args)).read("m")
    assert caught.value.code == code


def one_member(packed: bytes, method: int, claimed: int, crc: int, flags: int = 0) -> bytes:
    local = struct.pack("<4sHHHHHIIIHH", b"PK\x03\x04", 20, flags, method, 0, 0, crc, len(packed), claimed, 1, 0) + b"m"
    entry = struct.pack(
        "<4sHHHHHHIIIHHHHHII", b"PK\x01\x02", 20, 20, flags, method, 0, 0, crc, len(packed), claimed, 1, 0, 0, 0, 0, 0, 0
    ) + b"m"
    at = len(local) + len(packed)
    return local + packed + entry + struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 1, 1, len(entry), at, 0)


def test_sniff() -> None:
    def sniff(name: str, head: bytes | None = None) -> int:
        return FORMAT.sniff(DATA / name, (DATA / name).read_bytes()[:4096] if head is None else head)

    assert [sniff(n) for n in EVALS] == [EXACT, EXACT, EXACT, CONTENT]
    assert sniff("x.eval", b"") == NAME
    assert sniff("x.eval", b"result = eval(x)") == NO
    assert sniff("x.json", b'{"eval": 1, "status": "ok"}') == NO


@settings(
    max_examples=150, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_mutated_documents_never_raise(tmp_path: Path, data) -> None:
    document = copy.deepcopy(LOG)
    for _ in range(data.draw(st.integers(1, 4))):
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
    (tmp_path / "log.json").write_text(json.dumps(document))
    read(tmp_path / "log.json")
    samples = document.get("samples")
    members = {f"samples/{i}_epoch_1.json": s for i, s in enumerate(samples if isinstance(samples, list) else [])}
    top = {k: v for k, v in document.items() if k != "samples"}
    read(archive(tmp_path / "log.eval", {**members, "header.json": top}))


@settings(
    max_examples=150, deadline=None, database=None, derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_damaged_archives_never_raise(tmp_path: Path, data) -> None:
    seed = bytearray((DATA / data.draw(st.sampled_from(["deflate.eval", "zstd.eval"]))).read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        seed[data.draw(st.integers(0, len(seed) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "log.eval"
    path.write_bytes(seed[: data.draw(st.integers(0, len(seed)))] if data.draw(st.booleans()) else seed)
    assert read(path).status in {"ok", "partial", "rejected"}


@pytest.mark.real
def test_the_logs_of_the_tools_own_tests(real: Path) -> None:
    n = 0
    for path in sorted((real / "inspect_ai").glob("*.eval")):
        batch = read(path)
        assert (batch.status, codes(batch)) == ("ok", [])
        with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as z:
            samples = [json.loads(z.read(m)) for m in z.namelist() if m.startswith("samples/")]
        runs = {r.problem_name: r for r in batch.rows["runs"]}
        assert set(runs) == {str(s["id"]) for s in samples}
        for sample in samples:
            run, n = runs[str(sample["id"])], n + 1
            told = [s["value"] for s in sample["scores"].values()]
            assert run.correct is ({"C": True, "I": False}[told[0]] if told else None)
            assert (run.total_tokens or 0) == sum(u["total_tokens"] for u in sample["model_usage"].values())
            texts = [m["content"] for m in sample["messages"] if m["content"].strip()]
            assert [m.text for m in batch.rows["messages"] if m.run_id == run.run_id] == texts
    assert n == 14
