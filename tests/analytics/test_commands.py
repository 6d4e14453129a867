"""The four reading commands over one small database file."""

from __future__ import annotations

import json
import re
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


@pytest.fixture(scope="module")
def hostile(path, tmp_path_factory):
    """The same with a name that holds what tables are made of."""
    import shutil

    from kbstats.analytics import warehouse

    found = tmp_path_factory.mktemp("hostile") / "k.duckdb"
    shutil.copy(path, found)
    con = warehouse.open_write(found)
    con.execute("update runs set model = ? , model_raw = 'hostile | model' where run_id = 'aaaa1111'", ["hostile | model\n with a line"])
    con.execute(
        "insert into runs by name select 'cccc' as run_id, r.* exclude (run_id, problem_id, problem_name, source_outcome, correct, speedup), "
        "12 as problem_id, '12_y.py' as problem_name, 'error' as source_outcome, false as correct from runs as r where run_id = 'aaaa1111'"
    )
    con.execute(
        "insert into tool_calls by name select 'cccc' as run_id, 0 as turn, 0 as seq, 'submit_kernel' as tool, false as ok, 'failed' as outcome, "
        "'submit_kernel FAILED: persistent build/lock contention after retries.' as result_text"
    )
    warehouse.refresh(con)
    con.close()
    return found


@pytest.fixture(scope="module", autouse=True)
def _command_line(kbstats):
    run.kbstats = kbstats


def run(path, *args, code=0, columns=80):
    p = run.kbstats(*args, env={"KBSTATS_DB": str(path), "COLUMNS": str(columns)})
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


@pytest.mark.parametrize(
    "args",
    [
        ["leaderboard"], ["leaderboard", "--by", "run"], ["leaderboard", "--by", "problem"], ["leaderboard", "--by", "matrix"], ["leaderboard", "--k", "1", "--trust", "audited"],
        ["failures"], ["failures", "--runs"], ["failures", "--patterns"], ["failures", "--unclassified"], ["audit"], ["audit", "--by", "finding"],
        ["compare", "hostile | model", "b"], ["show", "bbbb2222"],
    ],
)  # fmt: skip
def test_markdown_is_one_table(hostile, args):
    """As many cells in each row as in the head, whatever the names hold; nothing is left out for a narrow terminal."""
    lines = run(hostile, *args, "--format", "md", columns=20).stdout.splitlines()
    table = [line for line in lines if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table]
    assert len(table) > 2
    assert {len(row) for row in cells} == {len(cells[0])}
    assert all(re.fullmatch(r" -{3}:? ", c) for c in cells[1])
    assert not any("\n" in c or "_geomean" in c or "fast_ " in c for row in cells for c in row)
    if args == ["leaderboard"]:
        assert [c.strip() for c in cells[0]][:6] == ["#", "model", "n", "corr. %", "fast_1 %", "fast_2 %"]
        assert "near tie" in lines[0]
        assert {row[1].strip() for row in cells[2:]} == {"b", r"hostile \| model  with a line"}


def test_no_pairs_are_no_table(path):
    p = run(path, "compare", "a-model-of-30-characters-name", "b", "--format", "md")
    assert p.stdout == ""
    assert "nothing pairs" in p.stderr


def test_csv_holds_every_field_once(hostile):
    import csv
    import io

    rows = list(csv.DictReader(io.StringIO(run(hostile, "leaderboard", "--format", "csv").stdout)))
    assert {r["model"] for r in rows} == {"b", "hostile | model\n with a line"}
    assert {"rank", "n", "coverage", "fast_1"} <= set(rows[0])


def test_no_runs_is_one_line_and_an_empty_list(path):
    p = run(path, "leaderboard", "--level", "9", "--format", "json")
    assert json.loads(p.stdout) == []
    assert len(p.stderr.splitlines()) == 1


@pytest.mark.parametrize("args", [["--sort", "nope"], ["--p", "x"], ["--p", "-1"], ["--by", "nope"], ["--trust", "nope"]])
def test_wrong_usage_exits_2(path, args):
    assert run(path, "leaderboard", *args, code=2).stderr


@pytest.mark.parametrize(
    "args",
    [
        ["--by", "matrix"], ["--k", "1,2"], ["--shared", "--model", "b"], ["--trust", "audited"], ["--trust", "verified"], ["--min-coverage", "0.5"],
        *(["--by", by] for by in ("problem", "run", "mode", "sweep", "level", "variant", "suite", "harness", "hardware", "backend")),
    ],
)  # fmt: skip
def test_boards_of_all_kinds_fit(path, args):
    out = run(path, "leaderboard", *args).stdout
    assert max(map(len, out.splitlines())) <= 80
    json.loads(run(path, "leaderboard", *args, "--format", "json").stdout)


def test_matrix_names_its_columns(path):
    out = run(path, "leaderboard", "--by", "matrix").stdout
    assert "A  a-model-of-30-characters-name" in out
    assert "500" in out


@pytest.mark.parametrize("args", [["--k", "0"], ["--k", "x"], ["--k", "1.5"], ["--by", "run", "--k", "2"], ["--by", "matrix", "--p", "3"], ["--by", "run", "--sort", "geomean_speedup"],
                                  ["--by", "matrix", "--sort", "n"], ["--by", "problem", "--min-coverage", "0.5"]])  # fmt: skip
def test_what_a_board_would_not_heed_is_refused(path, args):
    assert len(run(path, "leaderboard", *args, code=2).stderr.splitlines()) == 1


def test_a_speedup_within_its_noise_is_said_to_be_none(tmp_path):
    from kbstats.analytics import warehouse

    path = tmp_path / "near.duckdb"
    con = warehouse.open_write(path)
    for run_id, speedup in (("aaaa", 1.015), ("bbbb", 1.03)):
        con.execute(
            "insert into runs by name select ? as run_id, 's' as source_id, 'x' as format, 'kb' as suite, 1 as level, 1 as problem_id, 'm' as model, "
            "true as correct, 'correct' as source_outcome, ? as speedup",
            [run_id, speedup],
        )
    warehouse.refresh(con)
    con.close()
    assert "1.01x against the reference (no measurable change)" in run(path, "show", "aaaa").stdout
    assert "no measurable change" not in run(path, "show", "bbbb").stdout


def test_suites_without_levels_have_no_level_none(tmp_path):
    from kbstats.analytics import warehouse

    path = tmp_path / "none.duckdb"
    con = warehouse.open_write(path)
    con.execute(
        "insert into runs by name select 'abc' || m || i as run_id, 's' as source_id, 'x' as format, 'kb' as suite, m as model, "
        "if(i = 0, null, i) as problem_id, 'name-' || i as problem_name, true as correct, 'correct' as source_outcome, 2.0 as speedup "
        "from range(2) as t(i), (values ('a'), ('b')) as u(m)"
    )
    warehouse.refresh(con)
    con.close()
    for args in (["leaderboard", "--by", "run"], ["leaderboard", "--by", "problem"], ["leaderboard", "--by", "matrix"], ["compare", "a", "b"], ["show", "abca0"], ["show", "a", "name-1"]):
        out = run(path, *args).stdout
        assert "None" not in out
    assert "name-0" in run(path, "leaderboard", "--by", "run").stdout
    assert "None" not in run(path, "show", "name", code=2).stderr


@pytest.mark.parametrize("args", [["--k", "0"], ["--k", "x"], ["--k", "1.5"]])
def test_wrong_k(path, args):
    assert run(path, "leaderboard", *args, code=2).stderr


def test_very_long_names_fold_and_trust_columns_stay(tmp_path):
    from kbstats.analytics import warehouse

    path = tmp_path / "long.duckdb"
    con = warehouse.open_write(path)
    con.execute(
        "insert into runs by name select 'r' || i as run_id, 's' as source_id, 'x' as format, 'kb' as suite, "
        "repeat('provider/model-', 4) || 'end' as model, i as problem_id, true as correct, 'correct' as source_outcome, "
        "1.0 + i as speedup from range(5) as t(i)"
    )
    warehouse.refresh(con)
    con.close()
    out = run(path, "leaderboard", "--trust", "audited").stdout
    assert max(map(len, out.splitlines())) <= 80
    head = " ".join(out.splitlines()[:2])
    for word in ("with-", "veri-", "fast_", "med-"):
        assert word in head
    name = "".join(line[3:27].strip() for line in out.splitlines()[3:])
    assert "provider/model-" * 4 + "end" in name.replace(" ", "")


def test_failures_of_other_kinds(path):
    runs = json.loads(run(path, "failures", "--runs", "--format", "json").stdout)
    assert [(r["run_id"], r["failure_class"]) for r in runs] == [("bbbb2222", "unclassified")]
    assert json.loads(run(path, "failures", "--patterns", "--format", "json").stdout) == []
    paths = json.loads(run(path, "failures", "--paths", "--format", "json").stdout)
    assert set(paths) == {"transitions", "costs", "repeats", "tools", "edits", "anytime"}
    assert paths["tools"][0]["tool"] == "submit_kernel"
    assert "submit_kernel" in run(path, "failures", "--paths").stdout
    run(path, "failures", "--runs", "--paths", code=2)
    run(path, "failures", "--paths", "--level", "3", code=2)
    run(path, "failures", "--by", "sweep")


def test_audit_gates(path):
    run(path, "audit", "--fail-on", "label_conflict", code=1)
    run(path, "audit", "--code", "truncated_log", "--fail-on", "label_conflict", code=1)
    run(path, "audit", "--fail-on", "twin_run")
    # What is shown does not decide what fails; which runs are asked for does.
    run(path, "audit", "--severity", "info", "--fail-on", "label_conflict", code=1)
    run(path, "audit", "--code", "truncated_log", "--fail-on", "label_conflict", "--model", "a-model-of-30-characters-name")
    # A gate over no runs would let everything pass.
    for args in (["--model", "a-typo"], ["--level", "3", "--sweep", "x"]):
        assert "no run to gate" in run(path, "audit", *args, "--fail-on", "label_conflict", code=2).stderr
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


def test_show_tells_what_changed(tmp_path):
    from kbstats.analytics import warehouse

    path = tmp_path / "d.duckdb"
    con = warehouse.open_write(path)
    con.execute(
        "insert into runs by name select 'cccc3333' as run_id, 's' as source_id, 'popcornbench' as format, 'kb' as suite, 'M' as model"
    )
    for sha, code in (("k1", "a\nb\nc"), ("k2", "a\nB\nc")):
        con.execute("insert into kernels by name select ? as kernel_sha256, ? as source_code, 3 as n_lines, 5 as n_chars", [sha, code])
    for turn, sha in enumerate(("k1", "k2", "k2")):
        con.execute(
            "insert into tool_calls by name select 'cccc3333' as run_id, ? as turn, 0 as seq, 'run_correctness' as tool, false as ok, "
            "'Output mismatch' as result_text, ? as kernel_sha256",
            [turn, sha],
        )
    con.execute("insert into annotations by name select 's' as source_id, 'cccc3333' as run_id, 'disputed' as verdict, 'not so' as text")
    warehouse.refresh(con)
    con.close()
    out = run(path, "show", "cccc", "--diff").stdout
    assert "(kernel +1 -1)" in out
    assert "-b" in out
    assert "+B" in out
    assert out.count("again, on the same kernel") == 1
    assert "disputed: not so" in out
    assert "-b" not in run(path, "show", "cccc").stdout
    calls = [c for t in json.loads(run(path, "show", "cccc", "--diff", "--format", "json").stdout)["turns"] for c in t["calls"]]
    assert [bool(c["diff"]) for c in calls] == [False, True, False]


def app():
    import typer
    from kbstats.analytics.commands import annotate, compare

    found = typer.Typer()
    found.command("compare")(compare.command)
    found.command("annotate")(annotate.command)
    return found


def invoke(*args, code=0):
    from typer.testing import CliRunner

    result = CliRunner().invoke(app(), list(map(str, args)))
    assert result.exit_code == code, (result.output, result.exception)
    return result.output


def test_compare_command(path):
    a, b = "a-model-of-30-characters-name", "b"
    out = invoke("compare", a, b, "--db", path)
    assert "0 shared problems" in out
    assert "only A ran" in out
    assert json.loads(invoke("compare", a, b, "--db", path, "--format", "json"))["pairs"] == 0


def test_annotate_command(path, tmp_path):
    target = tmp_path / "notes.jsonl"
    invoke("annotate", "aaaa1111", "--verdict", "disputed", "--text", "why", "--finding", "speedup_extraordinary", "--file", target, "--db", path)
    (line,) = map(json.loads, target.read_text().splitlines())
    assert (line["run_id"], line["verdict"], line["finding"]) == ("aaaa1111", "disputed", "speedup_extraordinary")
