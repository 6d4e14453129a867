"""What the tests of all agents' transcripts share: reading one, and mutating its lines.

Loaded by conftest.py under the name `kbstats_test_transcripts`, since tests are no package.
"""

from __future__ import annotations

import copy
import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from kbstats.ingest.batch import Batch, to_arrow
from kbstats.ingest.format import Format, Source
from kbstats.ingest.issue_codes import CODES

ODD = st.sampled_from(
    [None, True, 0, -1, 1.5, 2**63, "", "x", "NaN", "\ud800", [], {}, [[]], {"a": {"b": []}}, [None], float("nan"), float("inf")]
)


def run_of(batch: Batch) -> Any:
    (run,) = batch.rows["runs"]
    return run


def codes(batch: Batch) -> list[str]:
    return [i.code for i in batch.rows.get("ingest_issues", [])]


def places(node: Any, at: tuple = ()):
    yield at
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield from places(value, (*at, key))


class Transcripts:
    """The fixtures of one format, and how they are read."""

    def __init__(self, fmt: Format, folder: Path) -> None:
        self.fmt = fmt
        self.folder = folder

    def read(self, path: Path) -> Batch:
        source = Source(path, "source", tuple(sorted(self.fmt.companions(path))))
        batch = Batch("source", str(path))
        self.fmt.read(source, batch)
        batch.finish()
        to_arrow([batch])
        return batch

    def events(self, name: str) -> list[dict]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines() if line.startswith("{")]

    def never_raises(self, seeds: list[str]):
        """A test that mutated lines of these files end in rows and known issues, never in an exception."""

        @settings(max_examples=150, deadline=None, database=None, derandomize=True)
        @given(data=st.data())
        def test(data: Any) -> None:
            lines = copy.deepcopy(self.events(data.draw(st.sampled_from(seeds))))
            for _ in range(data.draw(st.integers(1, 5))):
                if not lines:
                    break
                *at, last = data.draw(st.sampled_from([p for p in places(lines) if p]))
                node: Any = lines
                for key in at:
                    node = node[key]
                if data.draw(st.booleans()):
                    node[last] = copy.deepcopy(data.draw(ODD))
                else:
                    del node[last]
            text = "\n".join(map(json.dumps, lines)).encode()
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "transcript.jsonl"
                path.write_bytes(text[: data.draw(st.integers(0, len(text)))] if data.draw(st.booleans()) else text)
                batch = self.read(path)
            assert len(batch.rows.get("runs", [])) <= 1
            assert set(codes(batch)) <= set(CODES)

        return test
