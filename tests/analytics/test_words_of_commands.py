"""What the reading commands print for people: audits by name, the order of a board, near ties, long words."""

from __future__ import annotations

import json
import shutil
from functools import partial

import pytest
from kbstats.analytics import audit, leaderboards, next_steps, output, warehouse
from kbstats.analytics.commands import leaderboard as command


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    """Two runs: one that failed at length, and one with a speedup that no one believes."""
    found = tmp_path_factory.mktemp("words") / "k.duckdb"
    con = warehouse.open_write(found)
    for run_id, problem, model, speedup in (("aaaa1111", 11, "a-model-of-30-characters-name", 500.0), ("bbbb2222", 12, "b", 3.0)):
        con.execute(
            "insert into runs (run_id, source_id, format, suite, level, problem_id, problem_name, model, source_outcome, correct, speedup) "
            "values (?, 's', 'popcornbench', 'kb', 3, ?, ?, ?, 'correct', true, ?)", [run_id, problem, f"{problem}_x.py", model, speedup]
        )  # fmt: skip
    con.execute(
        "insert into tool_calls (run_id, turn, seq, tool, ok, outcome, result_text) values ('bbbb2222', 0, 0, 'submit_kernel', false, 'failed', ?)",
        ["submit_kernel FAILED: kernel did not compile.\nk.cu(3): error: " + 'expected a ";" and much more ' * 20],
    )
    warehouse.refresh(con)
    con.close()
    return found


@pytest.fixture
def run(kbstats):
    """A command over a database, on 80 columns."""
    return partial(_run, kbstats)


def _run(kbstats, path, *args, code=0):
    p = kbstats(*args, env={"KBSTATS_DB": str(path), "COLUMNS": "80"})
    assert p.returncode == code, p.stderr
    assert "Traceback" not in p.stderr
    return p


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("zero_pwr", "did you mean zero_power? "), ("power", "did you mean zero_power or power_over_board? "), ("Occupancy", "did you mean occupancy_over_100? "), ("xyz", "")],
)
def test_a_code_that_no_audit_gives(run, path, typed, meant):
    for option in ("--code", "--fail-on"):
        assert run(path, "audit", option, typed, code=2).stderr == f"kbstats: no audit {typed} ({meant}`kbstats audit --codes` lists all {len(audit.codes())})\n"


def test_every_code_is_listed_without_data(run, tmp_path):
    out = json.loads(run(tmp_path / "none.duckdb", "audit", "--codes", "--format", "json").stdout)
    assert [r["code"] for r in out] == audit.codes()
    assert all(r["purpose"] and r["threshold"] and r["severity"] in {"error", "warning", "info"} for r in out)


def test_what_to_do_next_counts_as_the_audit_does(run, tmp_path, monkeypatch):
    """Two kernels not right, one not faster: each number is that of the audit's row."""
    monkeypatch.chdir(tmp_path)
    db = tmp_path / "kb.duckdb"
    con = warehouse.open_write(db)
    for run_id, kernel in (("a", "k1"), ("b", "k2"), ("c", "k3")):
        con.execute("insert into runs (run_id, source_id, format, suite, level, problem_name, hardware, speedup, correct, source_outcome, submitted_kernel_sha256) "
                    "values (?, 's', 'table', 'kb', 1, '1_A.py', 'H200', 2.0, true, 'correct', ?)", [run_id, kernel])  # fmt: skip
    for n, (kernel, verdict) in enumerate((("k1", "INCORRECT:values"), ("k2", "HACK:stream"), ("k3", "NO_SPEEDUP"))):
        con.execute("insert into verifications (verification_id, source_id, kernel_sha256, suite, level, problem_name, verdict, correctness, speed, device, gpu_model, sandbox_ok) "
                    "values (?, 'v', ?, 'kb', 1, '1_A.py', ?, 'passed', 'same', 'cuda', 'NVIDIA H200', true)", [str(n), kernel, verdict])  # fmt: skip
    warehouse.refresh(con)
    con.close()
    counts = {r["code"]: r["runs"] for r in json.loads(run(db, "audit", "--by", "code", "--format", "json").stdout)}
    assert (counts["refuted"], counts["refuted_speed"]) == (2, 1)
    facts = next_steps.advise(db).facts
    assert "3 runs carry a finding of severity error, among them 2 refuted, 1 refuted_speed." in facts


def test_the_board_shows_what_it_is_sorted_by(run, path):
    """Whatever key and room: a board in an order that nobody can see is no answer."""
    con = warehouse.open_read(path)
    joined = {"fast_0": "correct_rate", "geomean_speedup": "_geomean"}
    for by in (command.By.model, command.By.problem):
        rows = leaderboards.board(con, leaderboards.Filters(), by=by.value).rows
        for key in leaderboards.sort_keys():
            for room in (80, 300):
                _, columns = command._for_people(by, command.Trust.claimed, rows, [0, 1, 2], [], room=room, sort=key)
                assert {key, joined.get(key)} & {c.key for c in columns}, (by, key, room)
    con.close()
    assert "total\n" in run(path, "leaderboard", "--by", "run", "--sort", "total_tokens").stdout


def test_a_near_tie_is_marked(run, path, tmp_path):
    db = tmp_path / "k.duckdb"
    shutil.copy(path, db)
    con = warehouse.open_write(db)
    con.execute("update runs set speedup = 1.01 where run_id = 'bbbb2222'")
    warehouse.refresh(con)
    con.close()
    p = run(db, "leaderboard", "--by", "run")
    assert "~1.01" in p.stdout
    assert "~500" not in p.stdout
    assert "~ no measurable change" in p.stderr
    assert "measurable" not in run(path, "leaderboard", "--by", "run").stderr


def test_an_example_is_three_lines_at_most():
    assert output.example("one two three four five six", 9) == "one two\nthree\nfour fiv…"
    assert output.example("one two", 9) == "one two"
    assert output.example(None, 9) == ""


def test_no_table_is_wider_than_the_terminal(run, path):
    """Of a long name two lines, of a long text three."""
    for args, title in ((("failures", "--runs"), "evidence"), (("audit", "--by", "model"), "for example"), (("audit", "--by", "run"), "for example")):
        head, _, *rows = run(path, *args).stdout.splitlines()
        assert title in head
        assert max(map(len, rows)) <= 80
        assert len(rows) <= 2 * 3


def test_a_table_that_became_records_has_whole_heads(run, path):
    out = run(path, "leaderboard", "--k", "1,2,3,4,5", "--p", "1,1.5,2,3,4,5,6").stdout
    heads = {line.split("  ")[0] for line in out.splitlines()}
    assert {"corr. %", "fast_1.5 %", "geomean", "verified"} <= heads


def test_a_matrix_of_many_models_goes_on_in_a_further_table(run, tmp_path):
    """Thirty models on 80 columns: each in one table, with its letter and its own problems alone."""
    db = tmp_path / "k.duckdb"
    con = warehouse.open_write(db)
    for i in range(30):
        con.execute("insert into runs (run_id, source_id, format, suite, level, problem_id, problem_name, model, correct, speedup) "
                    "values (?, 's', 'table', 'kb', 1, ?, ?, ?, true, ?)", [f"r{i}", i // 29, f"{i // 29}_x.py", f"m{i:02}", 100.0 + i])  # fmt: skip
    warehouse.refresh(con)
    con.close()
    out = run(db, "leaderboard", "--by", "matrix").stdout
    assert max(map(len, out.splitlines())) <= 80
    *tables, legend = out.split("\n\n")
    heads = [t.splitlines()[0].split() for t in tables]
    letters = [c for head in heads for c in head if c not in {"level", "problem"}]
    assert letters == [line.split()[0] for line in legend.splitlines()[:30]]
    assert len(tables) == 2
    values = [v for t in tables for row in t.splitlines()[2:] for v in row.split() if v.isdigit()]
    assert sorted(values) == [str(100 + i) for i in range(30)]
    assert "L1 P1" not in tables[0]
    assert len(run(db, "leaderboard", "--by", "matrix", "--format", "md").stdout.split("\n\n")) == 2
