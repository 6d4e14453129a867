"""Mutated files of every built-in format: no exception leaves an adapter, no record misses its column's type.

`KBSTATS_FUZZ` sets how many cases a format gets.
"""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kbstats.ingest.batch import to_arrow
from kbstats.ingest.decoding import Task, decode

DATA = Path(__file__).resolve().parents[1] / "data" / "ingest"
CASES = int(os.environ.get("KBSTATS_FUZZ", "80"))
SEEDS = {
    "popcornbench": "popcornbench/runs/demo_all/popcorn/model-x/level_1_problem_1_trajectory.json",
    "kernelbench": "kernelbench/v1_level1_run/eval_results.json",
    "verification": "verifications/results.jsonl",
    "table": "tables/results.csv",
}
ODD = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        1.0,
        1.5,
        2**63,
        -(2**70),
        1e308,
        "",
        "x",
        "3",
        "NaN",
        "\ud800",
        [],
        {},
        [[]],
        {"a": {"b": []}},
        [None],
        [1, "x"],
        {"": None},
        float("nan"),
        float("inf"),
        "0x10",
        "1e999",
        "\x00",
        ["\udfff"],
    ]
)


def paths(node, at=()):
    yield at
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from paths(value, (*at, key))


@st.composite
def mutations(draw, document):
    document = copy.deepcopy(document)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.sampled_from(sorted(paths(document), key=repr)))
        if not at:
            continue
        node = document
        for key in at[:-1]:
            node = node[key]
        what = draw(st.sampled_from(["replace", "drop", "wrap", "rename"]))
        if what == "replace":
            node[at[-1]] = copy.deepcopy(draw(ODD))  # never one list in two places
        elif what == "wrap":
            node[at[-1]] = [node[at[-1]]]
        elif what == "rename" and isinstance(node, dict):
            node[draw(st.sampled_from(["new", "turns", "metadata", "é"]))] = node.pop(at[-1])
        else:
            del node[at[-1]]
    return document


@st.composite
def damaged(draw, text):
    data = bytearray(text)
    for _ in range(draw(st.integers(0, 3))):
        i = draw(st.integers(0, max(0, len(data) - 1)))
        data[i : i + draw(st.integers(0, 5))] = draw(st.binary(max_size=6))
    return bytes(data[: draw(st.integers(0, len(data)))]) if draw(st.booleans()) else bytes(data)


def check(fmt, name, content, folder):
    path = folder / name
    path.write_bytes(content)
    result, batch = decode(Task("s", path, str(path), str(folder), fmt, (), len(content), 0))
    to_arrow([batch])
    codes = {i.code for i in batch.rows.get("ingest_issues", [])}
    assert "internal_error" not in codes, [i.message for i in batch.rows["ingest_issues"]]
    assert result.status in {"ok", "partial", "rejected"}
    assert result.status == "ok" or not (batch.rows.keys() & {"runs"}) or fmt != "popcornbench"


RELAXED = settings(
    max_examples=CASES,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.mark.parametrize("fmt", ["popcornbench", "kernelbench", "verification"])
def test_documents_with_odd_values(fmt, tmp_path, monkeypatch):
    monkeypatch.delenv("KBSTATS_DEBUG", raising=False)
    seed = DATA / SEEDS[fmt]
    text = seed.read_text()
    document = json.loads(text.splitlines()[0] if fmt == "verification" else text)

    @RELAXED
    @given(mutations(document))
    def run(mutated):
        check(fmt, seed.name, json.dumps(mutated).encode("utf-8", "surrogatepass") + b"\n", tmp_path)

    run()


@pytest.mark.parametrize("fmt", sorted(SEEDS))
def test_damaged_bytes(fmt, tmp_path, monkeypatch):
    monkeypatch.delenv("KBSTATS_DEBUG", raising=False)
    seed = DATA / SEEDS[fmt]

    @RELAXED
    @given(damaged(seed.read_bytes()))
    def run(content):
        check(fmt, seed.name, content, tmp_path)

    run()
