"""Driving one format by hand, and mutating its documents."""

from __future__ import annotations

import copy
import importlib.util
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kbstats.ingest import decode
from kbstats.ingest.batch import REJECTED, Batch, to_arrow
from kbstats.ingest.format import Source
from kbstats.ingest.registry import head_of

_spec = importlib.util.spec_from_file_location("kbstats_test_transcripts", Path(__file__).with_name("transcripts.py"))
sys.modules[_spec.name] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(sys.modules[_spec.name])

DATA = Path(__file__).resolve().parents[2] / "data"
JUNK = st.one_of(
    st.none(), st.booleans(), st.sampled_from([-1, 0, 2**63, 2**70, -1.0, 1e308, float("nan"), float("inf")]),
    st.sampled_from(["", "x", "\x00", "NaN", "1e999", "\ud800", "1", "-1", "2026-13-45", "[" * 50, "FAIL", "a\nb"]),
    st.sampled_from([[], {}, [None], [[1]], {"a": None}, [{"metadata": 1}], {"": {"": []}}]),
)


class Read:
    """What one file yields."""

    def __init__(self, batch: Batch) -> None:
        self.batch, self.status = batch, batch.status
        self.issues = batch.rows.get("ingest_issues", [])

    def __getitem__(self, table):
        return self.batch.rows.get(table, [])

    def codes(self):
        return Counter(i.code for i in self.issues)

    def run(self, **columns):
        (run,) = [r for r in self["runs"] if all(getattr(r, k) == v for k, v in columns.items())]
        return run

    def metrics(self, run):
        return {(m.subject, m.name): m.value for m in self["metrics"] if m.run_id == run.run_id and m.turn is None}


def drive(fmt, path: Path) -> Read:
    batch = Batch("source", str(path))
    try:
        fmt.read(Source(path, "source", tuple(fmt.companions(path))), batch)
    finally:
        batch.finish()
    to_arrow([batch])
    return Read(batch)


def claims(fmt, folder: Path):
    """Files below a folder that the format claims, with how sure it is."""
    out = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        if (fmt.suffixes is None or path.suffix.lower() in fmt.suffixes) and (score := fmt.sniff(path, head_of(path))):
            out[path] = score
    return out


def _places(node, at=()):
    yield at
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from _places(value, (*at, key))


def _mutate(document, data):
    document = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.sampled_from(list(_places(document))))
        if not at:
            continue
        node = document
        for key in at[:-1]:
            node = node[key]
        how = data.draw(st.sampled_from(["junk", "drop", "nest", "twice"]))
        if how == "drop":
            del node[at[-1]]
        elif how == "twice" and isinstance(node, list):
            node.append(copy.deepcopy(node[at[-1]]))
        else:
            node[at[-1]] = [node[at[-1]]] if how == "nest" else copy.deepcopy(data.draw(JUNK))
    return document


@pytest.fixture
def read():
    return drive


@pytest.fixture
def claimed():
    return claims


@pytest.fixture
def fixtures():
    return DATA


@pytest.fixture
def fuzz():
    """fuzz(format, file name, document): mutated and cut copies of it are read without an exception."""

    def run(fmt, name, document, dump=json.dumps, examples=60):
        @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
        @given(st.data())
        def inner(data):
            raw = dump(_mutate(document, data)).encode("utf-8", "surrogatepass")
            if data.draw(st.booleans()):
                raw = raw[: data.draw(st.integers(0, len(raw)))]
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(raw)
                fmt.sniff(path, raw[:4096])
                found = drive(fmt, path)
                if found.status == REJECTED:
                    assert found.issues

        inner()

    return run


@pytest.fixture
def lines():
    """The documents of a JSON lines file that parse, and the way back."""

    def load(path):
        out = []
        for line in path.read_bytes().splitlines():
            try:
                document = decode.untyped(line, Batch("s", "p"))
            except decode.UnreadableError:
                continue
            if isinstance(document, dict):
                out.append(document)
        return out

    return load


def _dump_lines(documents):
    return "\n".join(json.dumps(d) for d in documents) + "\n" if isinstance(documents, list) else json.dumps(documents)


@pytest.fixture
def dump_lines():
    return _dump_lines
