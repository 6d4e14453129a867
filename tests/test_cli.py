"""The command line as a stranger meets it: errors are one line, data and diagnostics are kept apart."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest


def one_line(text: str) -> str:
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    assert "Traceback" not in text
    return lines[0]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from kbstats.analytics import warehouse

    path = tmp_path_factory.mktemp("cli") / "small.duckdb"
    con = warehouse.open_write(path)
    con.execute("insert into kernels values ('k1', E'x = 1\\n\\x1b[31mred', 'python', 2, 9)")
    warehouse.refresh(con)
    con.close()
    return path


def test_no_database_names_the_next_step(kbstats, tmp_path: Path) -> None:
    for command in (
        ["leaderboard"],
        ["failures"],
        ["audit"],
        ["show", "x"],
        ["sql", "select 1"],
        ["site", "build", "-o", "out"],
    ):
        p = kbstats(*command, cwd=tmp_path)
        assert p.returncode == 1, command
        assert "kbstats ingest" in one_line(p.stderr)
        assert not p.stdout
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_no_database(kbstats, tmp_path: Path) -> None:
    (tmp_path / "x.duckdb").write_text("no database " * 1000)
    p = kbstats("leaderboard", "--db", "x.duckdb", cwd=tmp_path)
    assert p.returncode == 1
    assert "x.duckdb" in one_line(p.stderr)


def test_another_version_s_database_is_refused_with_the_way_out(kbstats, db: Path, tmp_path: Path) -> None:
    import duckdb

    old = tmp_path / "old.duckdb"
    old.write_bytes(db.read_bytes())
    con = duckdb.connect(str(old))
    con.execute("update meta set value = 'older' where key = 'schema_hash'")
    con.execute("update meta set value = '0.0.1' where key = 'kbstats_version'")
    con.close()
    before = old.read_bytes()
    p = kbstats("leaderboard", "--db", old)
    assert p.returncode == 1
    line = one_line(p.stderr)
    assert "0.0.1" in line
    assert "kbstats ingest" in line
    assert old.read_bytes() == before


def test_models_of_another_version_are_replaced(kbstats, db: Path, tmp_path: Path) -> None:
    import duckdb

    other = tmp_path / "models.duckdb"
    other.write_bytes(db.read_bytes())
    con = duckdb.connect(str(other))
    con.execute("update meta set value = 'older' where key = 'models_hash'")
    con.execute("create or replace table audit_findings as select 1 as nonsense")
    con.close()
    p = kbstats("sql", "select code, run_id from audit_findings", "--db", other, "--format", "json")
    assert (p.returncode, json.loads(p.stdout)) == (0, [])


def test_a_locked_database_names_its_holder(kbstats, db: Path) -> None:
    hold = "import duckdb, sys, time; c = duckdb.connect(sys.argv[1]); print('held', flush=True); time.sleep(60)"
    p = subprocess.Popen([sys.executable, "-c", hold, str(db)], stdout=subprocess.PIPE, text=True)
    try:
        assert p.stdout.readline() == "held\n"
        r = kbstats("sql", "select 1", "--db", db)
        assert r.returncode == 1
        assert str(p.pid) in one_line(r.stderr)
    finally:
        p.kill()
        p.wait()
        p.stdout.close()
    deadline = time.time() + 10
    while kbstats("sql", "select 1", "--db", db).returncode and time.time() < deadline:
        time.sleep(0.1)


def test_sql_prints_every_format(kbstats, db: Path) -> None:
    query = "select 1 as a, 'x|y' as b, null::double as c, 'nan'::double as d"
    assert json.loads(kbstats("sql", query, "--db", db, "--format", "json").stdout) == [
        {"a": 1, "b": "x|y", "c": None, "d": None}
    ]
    assert kbstats("sql", query, "--db", db, "--format", "csv").stdout == "a,b,c,d\n1,x|y,,nan\n"
    assert "| 1 | x\\|y |" in kbstats("sql", query, "--db", db, "--format", "md").stdout
    assert "x|y" in kbstats("sql", query, "--db", db).stdout


def test_sql_reads_from_standard_input(kbstats, db: Path) -> None:
    p = kbstats("sql", "-", "--db", db, "--format", "csv", input="select 40 + 2 as n")
    assert p.stdout == "n\n42\n"


@pytest.mark.parametrize(
    "query",
    [
        "drop table runs",
        "delete from runs",
        "create table t as select 1",
        "insert into meta values ('a', 'b')",
        "copy runs to 'leak.csv'",
        "select * from read_csv('/etc/passwd')",
        "select * from '/etc/passwd'",
        "select content from read_text('/etc/passwd')",
        "from glob('/etc/*')",
        "attach 'x.duckdb'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "export database 'leak'",
        "pragma database_list; drop table runs",
        "select 1; select 2",
        "",
        "select",
        "update runs set model = 'x'",
    ],
)
def test_sql_refuses_what_is_not_a_read(kbstats, db: Path, tmp_path: Path, query: str) -> None:
    before = db.read_bytes()
    p = kbstats("sql", query, "--db", db, cwd=tmp_path)
    assert p.returncode in (1, 2), p.stdout
    one_line(p.stderr)
    assert db.read_bytes() == before
    assert not list(tmp_path.iterdir())


def test_text_of_a_trace_does_not_drive_the_terminal(kbstats, db: Path) -> None:
    out = kbstats("sql", "select source_code from kernels", "--db", db).stdout
    assert "\x1b" not in out
    assert "\\x1b[31mred" in out


def test_wrong_usage_is_2(kbstats) -> None:
    for argv in (["nonsense"], ["leaderboard", "--no-such-option"], ["leaderboard", "--level", "three"], ["sql"]):
        p = kbstats(*argv)
        assert p.returncode == 2, argv
        assert "Traceback" not in p.stderr
        assert not p.stdout


def test_doctor_needs_nothing(kbstats, tmp_path: Path) -> None:
    p = kbstats("doctor", "--format", "json", cwd=tmp_path)
    rows = {r["what"]: r for r in json.loads(p.stdout)}
    assert p.returncode == 0
    assert rows["duckdb"]["ok"]
    assert not rows["database"]["ok"]
    assert rows["database"]["hint"] == "kbstats ingest PATH"
    assert max(map(len, kbstats("doctor", cwd=tmp_path).stdout.splitlines())) <= 80


def test_output_to_a_closed_pipe_is_no_error(db: Path) -> None:
    exe = Path(sys.executable).with_name("kbstats")
    script = f"'{exe}' sql 'select * from range(200000)' --db '{db}' --format csv | head -n 1; exit ${{PIPESTATUS[0]}}"
    p = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=os.environ)
    assert (p.returncode, p.stderr) == (0, "")
