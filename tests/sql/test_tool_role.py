from __future__ import annotations

from pathlib import Path

from kbstats.sql import catalog


def test_roles(db) -> None:
    got = dict(db.rows("select t, tool_role(t) from (values ('submit'), ('evaluate'), ('compile_kernel'), ('static_check'), ('profile_kernel'), (null)) as v(t)"))
    assert got == {"submit": "submit", "evaluate": "check", "compile_kernel": "compile", "static_check": "inspect", "profile_kernel": None, None: None}


def test_no_other_model_names_a_tool() -> None:
    """A harness whose tools have other names is taught in one place."""
    for f in (*catalog.sql_files("models"), *catalog.sql_files("audits")):
        statement = "\n".join(line for line in f.sql.splitlines() if not line.lstrip().startswith("--"))
        if f.name != "tool_role":
            for tool in ("submit_kernel", "run_correctness", "compile_kernel", "static_check", "submit_solution"):
                assert f"'{tool}'" not in statement, Path(f.name)


def test_a_role_is_what_counts(db) -> None:
    """Two harnesses, two names for handing in, one outcome."""
    for run_id, tool in (("a", "submit_kernel"), ("b", "submit_solution")):
        db.add("runs", run_id=run_id, source_outcome="correct", correct=True, sample_id=ord(run_id))
        db.add("tool_calls", run_id=run_id, tool=tool, ok=False, result_text="Output mismatch")
    assert db.rows("select distinct outcome, decided_by from run_outcomes") == [("incorrect", "submission")]
