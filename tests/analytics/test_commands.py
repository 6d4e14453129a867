"""The four reading commands over one small database file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

KBSTATS = Path(sys.executable).with_name("kbstats")


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    from kbstats.analytics import warehouse

    found = tmp_path_factory.mktemp("commands") / "k.duckdb"
    con = warehouse.open_write(found)
    add = con.execute
    add(
        "insert into runs by name select * from (values "
        "('aaaa1111', 's', 'popcornbench', 'kb', 3, 11, '11_x.py', 'a-model-of-30-characters-name', 'correct', true, 500.0), "
        "('bbbb2222', 's', 'popcornbench', 'kb', 3, 12, '12_y.py', 'b', 'correct', true, 3.0)) "
        'as t(run_id, source_id, format, suite, "level", problem_id, problem_name, model, source_outcome, correct, speedup)'
    )
    add("insert into turns by name select 'bbbb2222' as run_id, 0 as turn, 1.5 as llm_s")
    add(
        "insert into tool_calls by name select 'bbbb2222' as run_id, 0 as turn, 0 as seq, 'submit_kernel' as tool, false as ok, "
        "'failed' as outcome, ? as result_text",
        ["submit_kernel FAILED: something new \x1b[31mred\x1b[0m"],
    )
    warehouse.refresh(con)
    con.close()
    return found


def run(path, *args, code=0, columns=80):
    env = {**os.environ, "KBSTATS_DB": str(path), "COLUMNS": str(columns)}
    p = subprocess.run([KBSTATS, *args], capture_output=True, text=True, env=env, check=False)
    assert p.returncode == code, p.stderr
    assert "Traceback" not in p.stderr
    return p


def test_names_are_never_cut_and_lines_fit(path):
    out = run(path, "leaderboard").stdout
    assert "a-model-of-30-characters-name" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("command", ["leaderboard", "failures", "audit"])
@pytest.mark.parametrize("fmt", ["table", "json", "csv", "md"])
def test_every_format(path, command, fmt):
    out = run(path, command, "--format", fmt).stdout
    assert out.strip()
    assert "_geomean" not in out
    if fmt == "json":
        assert isinstance(json.loads(out), list)


def test_no_runs_is_one_line_and_an_empty_list(path):
    p = run(path, "leaderboard", "--level", "9", "--format", "json")
    assert json.loads(p.stdout) == []
    assert len(p.stderr.splitlines()) == 1


@pytest.mark.parametrize("args", [["--sort", "nope"], ["--p", "x"], ["--p", "-1"], ["--by", "nope"], ["--trust", "nope"]])
def test_wrong_usage_exits_2(path, args):
    assert run(path, "leaderboard", *args, code=2).stderr


def test_audit_gates(path):
    run(path, "audit", "--fail-on", "label_conflict", code=1)
    run(path, "audit", "--code", "truncated_log", "--fail-on", "label_conflict", code=1)
    run(path, "audit", "--fail-on", "twin_run")
    run(path, "audit", "--fail-on", "no_such_code", code=2)


def test_audit_rows(path):
    rows = json.loads(run(path, "audit", "--format", "json").stdout)
    assert {"code", "severity", "blocks", "run_id", "message", "value", "threshold"} <= set(rows[0])
    assert {r["code"] for r in rows} >= {"speedup_extraordinary", "last_submission_failed", "label_conflict"}


def test_failures_unclassified_prints_the_text_inert(path):
    out = run(path, "failures", "--unclassified").stdout
    assert "something new" in out
    assert "\x1b" not in out


@pytest.mark.parametrize("words", [["bbbb2222"], ["bbbb"], ["b", "L3", "P12"], ["b", "3", "12"], ["b/level_3_problem_12"]])
def test_show_finds_a_run(path, words):
    out = run(path, "show", *words).stdout
    assert "bbbb2222" in out
    assert "CONFLICT" in out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_show_without_or_with_several(path):
    run(path, "show", "nothing", code=1)
    assert "aaaa1111"[:8] in run(path, "show", "L3", code=2).stderr
    assert json.loads(run(path, "show", "aaaa", "--format", "json").stdout)["run"]["outcome"] == "correct"
