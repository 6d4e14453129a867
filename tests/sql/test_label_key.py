from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("label", "key"),
    [("correct", "correct"), (" Compile Error", "compile_error"), ("RUNTIME-ERROR", "runtime_error"), ("timed  out", "timed_out"), (None, None)],
)
def test_spellings(db, label, key):
    assert db.con.execute("select label_key(?)", [label]).fetchone()[0] == key


@pytest.mark.parametrize(
    ("label", "outcome"),
    [
        ("Compile Error", "compile_fail"), ("runtime error", "runtime_fail"), ("timed out", "timeout"), ("In Progress", "in_progress"),
        ("wrong answer", "incorrect"), ("segfault", "runtime_fail"), ("PASSED", "correct"), ("ok", "unknown"),
    ],
)  # fmt: skip
def test_labels_are_read_in_any_spelling(db, label, outcome):
    db.add("runs", run_id="a", source_outcome=label, correct=True if outcome == "correct" else None)
    assert db.one("select outcome, label from run_outcomes") == (outcome, label)
