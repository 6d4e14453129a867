from __future__ import annotations

import json

import pytest
from kbstats.analytics import annotations
from kbstats.ingest.batch import Batch
from kbstats.ingest.errors import KbstatsError, UsageError
from kbstats.ingest.format import Source
from kbstats.ingest.formats.annotation import FORMAT


def test_what_is_written_is_read_back(tmp_path):
    path = tmp_path / "annotations.jsonl"
    annotations.append(path, annotations.line("r1", "Disputed", " the reference loops\n", author="me", finding="speedup_extraordinary"))
    annotations.append(path, annotations.line("r2", "reward-hack", "it caches"))
    assert FORMAT.sniff(path, path.read_bytes()) == 100
    batch = Batch("s", str(path))
    FORMAT.read(Source(path, "s"), batch)
    rows = batch.rows["annotations"]
    assert [(r.run_id, r.verdict, r.text) for r in rows] == [
        ("r1", "disputed", "speedup_extraordinary: the reference loops"), ("r2", "reward_hack", "it caches"),
    ]  # fmt: skip
    assert rows[0].author == "me"
    assert "ingest_issues" not in batch.rows


def test_lines_that_say_nothing_are_issues(tmp_path):
    path = tmp_path / "x.jsonl"
    lines = [{"schema": annotations.SCHEMA, "verdict": "bug"}, {"schema": annotations.SCHEMA, "run_id": "r"}, {"schema": "kbstats.annotation/9", "run_id": "r", "text": "x"}]
    path.write_text("\n".join(map(json.dumps, lines)))
    batch = Batch("s", str(path))
    FORMAT.read(Source(path, "s"), batch)
    assert "annotations" not in batch.rows
    assert [i.code for i in batch.rows["ingest_issues"]] == ["bad_line", "bad_line", "unknown_schema"]


def test_no_other_file_is_written_to(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_text('{"schema": "kbstats.verification/1"}\n')
    with pytest.raises(KbstatsError):
        annotations.append(path, annotations.line("r", "note", "x"))
    assert path.read_text() == '{"schema": "kbstats.verification/1"}\n'


@pytest.mark.parametrize(("verdict", "text"), [("", "x"), ("two words", "x"), ("note", " ")])
def test_wrong_usage(verdict, text):
    with pytest.raises(UsageError):
        annotations.line("r", verdict, text)
