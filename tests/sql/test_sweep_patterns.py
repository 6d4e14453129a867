from __future__ import annotations

import pytest

ARCH = {"runtime_error": "CUDA error: no kernel image is available for execution on the device"}
WRONG = {"correctness_issue": "Output mismatch"}


def sweep(db, marks):
    for i, m in enumerate(marks):
        meta = {"A": ARCH, "W": WRONG, ".": {}}[m]
        db.add("runs", run_id=f"r{i:02}", sweep="s", model="M", problem_id=i, problem_name=f"{i}.py", compiled=True, correct=m == ".", extra={"metadata": meta})


@pytest.mark.parametrize(
    ("marks", "invalid"),
    [
        ("AAAAAAAA..", True),  # 8 of 10
        ("AAAAAAA...", False),  # 7 of 10
        ("AAAAAAAA", False),  # too few runs to tell
        ("." * 30 + "A" * 10, True),  # ten in a row
        ("." * 30 + "AAAAA.AAAAA", False),
        ("W" * 40, False),  # a weak model is no broken sweep
    ],
)
def test_when_a_sweep_is_invalid(db, marks, invalid):
    sweep(db, marks)
    assert bool(db.rows("select 1 from sweep_patterns where invalid")) is invalid
    found = {r[0] for r in db.rows("select run_id from audit_findings where code = 'sweep_invalid'")}
    assert found == ({f"r{i:02}" for i, m in enumerate(marks) if m == "A"} if invalid else set())


def test_samples_of_one_problem_are_no_row_of_problems(db):
    for i in range(40):
        db.add("runs", run_id=f"r{i:02}", sweep="s", model="M", sample_id=i, problem_id=0 if i < 10 else i, compiled=True, correct=i >= 10, extra={"metadata": ARCH if i < 10 else {}})
    assert db.rows("select n, longest_streak, invalid from sweep_patterns") == [(10, 1, False)]


def test_a_row_of_problems_speaks_of_those_in_the_row(db):
    marks = "." * 20 + "A" * 10 + "." * 30 + "A" + "." * 10 + "A"
    sweep(db, marks)
    rows = db.rows("select run_id, message from audit_findings where code = 'sweep_invalid' order by 1")
    assert [r[0] for r in rows] == [f"r{i}" for i in range(20, 30)]
    assert "10 problems in a row" in rows[0][1]
