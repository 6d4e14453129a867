"""What is exported comes back as it was, in every encoding."""

from __future__ import annotations

import json

import pytest
from kbstats.analytics.commands import export
from kbstats.ingest.errors import UsageError

TABLES = (
    "runs", "turns", "messages", "tool_calls", "compile_errors", "timeouts", "metrics", "kernels", "problems", "baselines",
    "annotations", "verifications", "verification_checks", "verification_timings", "run_copies", "run_links", "ingest_issues",
)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A database with something in most tables, texts that CSV finds hard among it."""
    from pathlib import Path

    from kbstats.analytics import warehouse
    from kbstats.ingest import pipeline

    folder = tmp_path_factory.mktemp("full")
    hard = {
        "problem_id": 1, "level": 1, "run_name": "h_all", "model_name": "\\N", "max_turns": 1, "outcome": "",
        "turns": [{"turn_id": 0, "feedback_to_model": '\\\r\n"quoted", é \x01 \u2028', "response": [{"type": "message", "content": "\\N"}], "tool_calls": [{"tool_name": "x", "args": {"a": [1.5, None, 1e-7]}, "result_text": "a\r\n\tb"}]}],
    }
    path = folder / "runs/h_all/original/m/level_1_problem_1_trajectory.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(hard))
    db = folder / "a.duckdb"
    con = warehouse.open_write(db)
    data = Path(__file__).resolve().parents[1] / "data"
    pages = data / "popcornbench_page"
    pipeline.ingest(con, [folder / "runs", data / "ingest", pages, data / "popcornbench_summary"])
    con.execute("insert into annotations select source_id, run_id, null, 'clean', 'text', 'me' from runs limit 1")
    con.close()
    return db


def content(db):
    import duckdb

    con = duckdb.connect(str(db), read_only=True)
    con.execute("set timezone = 'UTC'")
    out = {}
    for table in TABLES:
        columns = [r[0] for r in con.execute(f"describe {table}").fetchall() if r[0] != "source_id"]
        select = ", ".join(f'"{c}"::varchar' for c in columns)
        out[table] = sorted(map(repr, con.execute(f"select {select} from {table}").fetchall()))
    con.close()
    return out


@pytest.mark.parametrize("to", list(export.Encoding))
def test_there_and_back(full, tmp_path, to, monkeypatch):
    from kbstats.analytics import warehouse
    from kbstats.ingest import pipeline

    monkeypatch.setattr(export, "PART_RUNS", 7)
    export.command(tmp_path / "out", to=to, db=full)
    con = warehouse.open_write(tmp_path / "b.duckdb")
    summary = pipeline.ingest(con, [tmp_path / "out"])
    con.close()
    assert not summary.rejected
    got, want = content(tmp_path / "b.duckdb"), content(full)
    for table in TABLES:
        assert got[table] == want[table], table
        assert want[table], f"{table} is not tested"


def test_atif_steps(full, tmp_path):
    export.command(tmp_path / "out", to=export.Encoding.atif, db=full)
    documents = [json.loads(p.read_text()) for p in (tmp_path / "out/runs").rglob("trajectory.json")]
    (page,) = [d for d in documents if "demo_gen3_all" in str(d["extra"]["kbstats"]["tables"]["runs"][0].get("sweep"))]
    assert page["schema_version"] == "ATIF-v1.7"
    steps = page["steps"]
    assert [s["source"] for s in steps] == ["agent", "agent"]
    assert steps[0]["reasoning_content"] == "think of <b>double</b> & half"
    assert steps[1]["message"] == "submitting"
    assert steps[1]["tool_calls"][0]["function_name"] == "submit_kernel"
    assert "class ModelNew" in steps[1]["tool_calls"][0]["arguments"]["kernel_code"]
    assert steps[1]["observation"]["results"][0]["content"].startswith("submit_kernel PASSED")
    assert steps[1]["metrics"] == {"prompt_tokens": 5752, "completion_tokens": 1263}
    assert [s["step_id"] for s in steps] == [1, 2]


def test_a_folder_with_something_in_it_is_refused(full, tmp_path):
    (tmp_path / "x").write_text("mine")
    with pytest.raises(UsageError):
        export.command(tmp_path, db=full)


def test_a_missing_table_and_one_cut_short(full, tmp_path):
    from kbstats.analytics import warehouse
    from kbstats.ingest import pipeline

    export.command(tmp_path / "out", to=export.Encoding.jsonl, db=full)
    part = tmp_path / "out/part-00000"
    (part / "metrics.jsonl").unlink()
    text = (part / "turns.jsonl").read_text()
    (part / "turns.jsonl").write_text(text[: len(text) // 2])
    con = warehouse.open_write(tmp_path / "b.duckdb")
    summary = pipeline.ingest(con, [tmp_path / "out"])
    con.close()
    assert summary.issues["missing_part"] == 1
    assert summary.partial == 1
