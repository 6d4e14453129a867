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


@pytest.mark.parametrize(("wrong", "invalid"), [(36, True), (29, True), (28, False)])
def test_a_sweep_of_many_models_is_judged_as_a_whole(db, wrong, invalid):
    """Six models at six problems each are too few runs a model; 28 of 36 are below 80 %."""
    for i in range(36):
        db.add("runs", run_id=f"r{i:02}", sweep="s", model=f"M{i % 6}", problem_id=i // 6, problem_name=f"{i // 6}.py", compiled=True,
               correct=i >= wrong, extra={"metadata": ARCH if i < wrong else {}})  # fmt: skip
    found = db.rows("select message from audit_findings where code = 'sweep_invalid'")
    assert len(found) == (wrong if invalid else 0)
    assert all(f"{wrong} of the sweep's 36 runs" in message for (message,) in found)


def test_runs_of_no_sweep_are_none(db):
    for i in range(12):
        db.add("runs", run_id=f"r{i:02}", model=f"M{i}", compiled=True, correct=False, extra={"metadata": ARCH})
    assert db.rows("select 1 from sweep_patterns where invalid") == []
