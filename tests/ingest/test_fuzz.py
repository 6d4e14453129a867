"""Mutated files of every built-in format: no exception leaves an adapter, no record misses its column's type.

Structured documents are mutated as such, with keys out of the formats' declared records among the
changes; all files are damaged as bytes. `KBSTATS_FUZZ` sets how many cases a format gets: of its documents, where
they are structured, else of its bytes. Damage to the bytes of a structured format, which little survives, and to
companions gets a quarter more.
"""

from __future__ import annotations

import copy
import importlib
import inspect
import json
import os
import pkgutil
import shutil
import tempfile
from pathlib import Path

import kbstats.ingest.formats
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kbstats.ingest import registry
from kbstats.ingest.batch import to_arrow
from kbstats.ingest.decoding import Task, decode

DATA = Path(__file__).resolve().parents[1] / "data"
CASES = int(os.environ.get("KBSTATS_FUZZ", "25"))
COM = "kernelbench_com/outputs/runs/20260102_030405_demo-claude_org_model-a_01_fp8_gemm"
V3 = "kernelbench_v3/runs/20250102_030405_raw_cuda_acme_org_model-1/kernel_21_21_Sigmoid_py"
SEEDS = {
    "annotation": "annotation/annotations.jsonl",
    "atif": "atif/patched/trajectory.json",
    "claude_code": "claude_code/session.jsonl",
    "codex": "codex/rollout.jsonl",
    "cuda_l1": "cuda_l1/h100.json",
    "flashinfer_bench": "flashinfer_bench/dataset/traces/rmsnorm/rmsnorm_h64.jsonl",
    "gemini": "gemini/stream.jsonl",
    "inspect_ai": "inspect_ai/log.json",
    "kbstats_export": "kbstats_export/kbstats-export.json",
    "kernelbench": "ingest/kernelbench/v1_level1_run/eval_results.json",
    "kernelbench_agentic": "kernelbench_agentic/agentic_demo/gen_results.json",
    "kernelbench_com": f"{COM}/result.json",
    "kernelbench_kernels": "ingest/kernelbench/v1_level1_run/level_1_problem_1_sample_0_kernel.py",
    "kernelbench_leaderboard": "kernelbench_leaderboard/raw_data.json",
    "kernelbench_v3": f"{V3}/metrics.yaml",
    "opencode": "opencode/run.jsonl",
    "popcornbench": "ingest/popcornbench/runs/demo_all/popcorn/model-x/level_1_problem_1_trajectory.json",
    "popcornbench_page": "popcornbench_page/report/v/popcorn/t/model-y__l5_p3.html",
    "popcornbench_summary": "popcornbench_summary/run_summary.json",
    "problems": f"{V3}/reference.py",
    "ralph": "ralph/ralph_demo/results.jsonl",
    "robust_kbench": "robust_kbench/highlighted/results.csv",
    "table": "ingest/tables/results.csv",
    "verification": "ingest/verifications/results.jsonl",
}
MORE = {"inspect_ai": ("inspect_ai/deflate.eval", "inspect_ai/zstd.eval"), "kernelbench_com": ("kernelbench_com/catalog.json",)}
STRUCTURED = sorted(n for n, p in SEEDS.items() if p.endswith((".json", ".jsonl")))
TOKENS = {"@deep": "[" * 300 + "]" * 300, "@open": "[" * 300, "@huge": "1" + "0" * 400, "@inf": "1e999", "@nan": "NaN", "@half": '"\\ud800"', "@ctrl": '"\x01"'}
"""Written into the text in place of the marker: what `json.dumps` itself would not write."""
ODD = st.sampled_from(
    [
        None, True, False, 0, -1, 1.0, 1.5, 2**63, -(2**70), 1e308, "", "x", "3", "NaN", [], {}, [[]], {"a": {"b": []}}, [None], [1, "x"],
        {"": None}, "0x10", "1e999", "\x00", "../../x", "2026-13-45", *TOKENS,
    ]
)


def declared(name):
    """Keys of the records that a format's modules declare."""
    keys = set()
    for module in pkgutil.iter_modules(kbstats.ingest.formats.__path__):
        if module.name == name or module.name.startswith(f"{name}_"):
            found = importlib.import_module(f"kbstats.ingest.formats.{module.name}")
            for _, cls in inspect.getmembers(found, inspect.isclass):
                if issubclass(cls, msgspec.Struct) and cls.__module__ == found.__name__:
                    keys.update(cls.__struct_encode_fields__)
    return sorted(keys) or ["metadata", "turns"]


def paths(node, at=()):
    yield at
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from paths(value, (*at, key))


def inside(document, at):
    for key in at:
        document = document[key]
    return document


@st.composite
def mutations(draw, document, keys):
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.sampled_from(list(paths(document))))
        node = inside(document, at)
        if isinstance(node, dict) and draw(st.booleans()):
            node[draw(st.sampled_from(keys))] = copy.deepcopy(draw(ODD))  # never one list in two places
            continue
        if not at:
            continue
        above = inside(document, at[:-1])
        what = draw(st.sampled_from(["replace", "drop", "nest", "rename", "twice"]))
        if what == "replace":
            above[at[-1]] = copy.deepcopy(draw(ODD))
        elif what == "nest":
            above[at[-1]] = [node]
        elif what == "rename" and isinstance(above, dict):
            above[draw(st.sampled_from([*keys, "é", "new"]))] = above.pop(at[-1])
        elif what == "twice" and isinstance(above, list):
            above.append(copy.deepcopy(node))
        else:
            del above[at[-1]]
    return document


@st.composite
def texts(draw, document, keys):
    """A mutated document as text: odd tokens written in, at times a key twice, at times cut."""
    text = json.dumps(draw(mutations(document, keys)), ensure_ascii=draw(st.booleans()))
    for marker, token in TOKENS.items():
        text = text.replace(f'"{marker}"', token)
    if draw(st.booleans()) and "{" in text:
        key = draw(st.sampled_from(keys))
        text = text.replace("{", f'{{"{key}": {draw(st.sampled_from(["1", "null", "[]", "{}"]))}, ', 1)
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 3)) == 0 else text


@st.composite
def damaged(draw, data):
    data = bytearray(data)
    for _ in range(draw(st.integers(0, 3))):
        i = draw(st.integers(0, max(0, len(data) - 1)))
        data[i : i + draw(st.integers(0, 5))] = draw(st.binary(max_size=6))
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


def check(fmt, path, content, into=None):
    """Decode a file whose content, or that of its companion `into`, is this."""
    (into or path).write_bytes(content)
    companions = tuple(registry.load(fmt).companions(path))
    result, batch = decode(Task("s", path, str(path), str(path.parent), fmt, companions, len(content), 0))
    to_arrow([batch])
    issues = batch.rows.get("ingest_issues", [])
    assert "internal_error" not in {i.code for i in issues}, [i.message for i in issues]
    assert result.status in {"ok", "partial", "rejected"}
    assert result.status != "rejected" or issues
    assert all(i.path and i.code and i.severity in {"error", "warning"} for i in issues)
    assert len(json.dumps([i.message for i in issues])) < 100_000


def cases(n):
    """Settings for so many cases; the same ones each time."""
    return settings(max_examples=max(3, n), deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck))


@pytest.fixture
def place(monkeypatch):
    """A copy of a seed within a copy of its folder, so that companions are there; in memory, where a system has that."""
    monkeypatch.delenv("KBSTATS_DEBUG", raising=False)
    memory = Path("/dev/shm")  # a case takes a third of the time that it takes on a busy disk
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as tmp:

        def run(seed):
            source = DATA / seed
            folder = Path(tmp) / "x" / source.parent.relative_to(DATA)
            shutil.copytree(source.parent, folder, dirs_exist_ok=True)
            return folder / source.name

        yield run


def test_every_format_has_a_seed():
    built_in = {n for n in registry.names() if registry.is_built_in(n)}
    assert built_in == set(SEEDS)


@pytest.mark.parametrize("fmt", STRUCTURED)
def test_mutated_documents(fmt, place):
    path = place(SEEDS[fmt])
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = [ln for ln in text.splitlines() if ln.startswith("{")]
    try:
        document = json.loads(text)
    except ValueError:
        document = json.loads(lines[0])
    keys = declared(fmt)

    @cases(CASES)
    @given(texts(document, keys))
    def run(mutated):
        body = mutated if not path.name.endswith("l") else "\n".join([*lines[:3], mutated.replace("\n", " "), *lines[-2:], ""])
        check(fmt, path, body.encode("utf-8", "surrogatepass"))

    run()


@pytest.mark.parametrize(("fmt", "seed"), sorted((f, s) for f in SEEDS for s in (SEEDS[f], *MORE.get(f, ()))))
def test_damaged_bytes(fmt, seed, place):
    path = place(seed)

    @cases(CASES // 4 if fmt in STRUCTURED else CASES)
    @given(damaged(path.read_bytes()))
    def run(content):
        check(fmt, path, content)

    run()


def beside(fmt):
    """Names of the companions of a format's seed."""
    source = DATA / SEEDS[fmt]
    return [os.path.relpath(c, source.parent) for c in sorted(registry.load(fmt).companions(source))]


@pytest.mark.parametrize(("fmt", "name"), [(f, c) for f in sorted(SEEDS) for c in beside(f)])
def test_damaged_companions(fmt, name, place):
    path = place(SEEDS[fmt])
    into = path.parent / name
    if not into.exists():  # above the seed's own folder
        into = into.resolve()
        into.parent.mkdir(parents=True, exist_ok=True)
        into.write_bytes((DATA / SEEDS[fmt]).parent.joinpath(name).read_bytes())

    @cases(CASES // 4 // len(beside(fmt)))
    @given(damaged(into.read_bytes()))
    def run(content):
        check(fmt, path, content, into)

    run()
