"""What must not be lost: by a kill, a full disk, a second writer, another version, odd folders."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import duckdb
import pytest

KBSTATS = str(Path(sys.executable).with_name("kbstats"))
SLOW = bool(os.environ.get("KBSTATS_SLOW"))
SLOWED = """
import sys, time
from kbstats.analytics import cli
from kbstats.ingest import behind, pipeline
pipeline.GROUP_FILES = 5
pipeline.GROUP_BYTES = 1 << 20
behind.COMMIT_BYTES = 0
real = behind.Commits.done
def done(self, n_bytes):
    real(self, n_bytes)
    print("committed", file=sys.stderr, flush=True)
    time.sleep(0.3)
behind.Commits.done = done
sys.argv = ["kbstats", *sys.argv[1:]]
cli.main()
"""


def trajectory(i, pad=""):
    calls = [{"tool_name": "compile_kernel", "args": {"kernel_code": f"# {i} {pad}"}, "success": True, "result_text": "compile_kernel PASSED", "metadata": {}}]
    return {"problem_id": i, "level": 1, "problem_name": f"{i}_x.py", "run_name": "s_all", "model_name": "m", "max_turns": 2, "outcome": "incorrect", "turns": [{"turn_id": 0, "tool_calls": calls}]}


def fill(folder, n, pad=""):
    folder = folder / "runs/s_all/original/m"
    folder.mkdir(parents=True, exist_ok=True)
    for i in range(n):
        path = folder / f"level_1_problem_{i}_trajectory.json"
        path.write_text(json.dumps(trajectory(i, pad)))
        os.utime(path, (time.time() - 3600,) * 2)
    return folder


def run(*args, **options):
    return subprocess.run([KBSTATS, *map(str, args)], capture_output=True, text=True, timeout=120, **options)


def ask(db, sql):
    con = duckdb.connect(str(db), read_only=True)
    try:
        return con.execute(sql).fetchall()
    finally:
        con.close()


def slowed(folder, db):
    return subprocess.Popen([sys.executable, "-c", SLOWED, "ingest", str(folder), "--db", str(db)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(child, n):
    for _ in range(n):
        assert "committed" in child.stderr.readline()


KILLED = """
import importlib, os, signal, sys
name, function, when = sys.argv[1:4]
module = importlib.import_module(name)
real = getattr(module, function)
def killed(*args, **options):
    if when == "after":
        real(*args, **options)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(module, function, killed)
from kbstats.analytics import cli
sys.argv = ["kbstats", *sys.argv[4:]]
cli.main()
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A folder of runs with a database that nobody disturbed, and what it says."""
    folder = tmp_path_factory.mktemp("whole")
    fill(folder, 6)
    db = folder / "whole.duckdb"
    assert run("ingest", folder / "runs", "--db", db).returncode == 0
    return folder, run("leaderboard", "--db", db, "--format", "json").stdout


@pytest.mark.parametrize(
    ("module", "function", "when"),
    [
        ("kbstats.analytics.warehouse", "_check_schema", "before"),  # tables are there, and nothing else
        ("kbstats.ingest.store", "insert", "after"),
        ("kbstats.analytics.intervals", "store", "after"),
        ("kbstats.analytics.warehouse", "refresh", "after"),
    ],
)
def test_killed_at_any_step(whole, tmp_path, module, function, when):
    folder, said = whole
    db = tmp_path / "a.duckdb"
    command = [sys.executable, "-c", KILLED, module, function, when, "ingest", folder / "runs", "--db", db]
    assert subprocess.run(list(map(str, command)), capture_output=True, timeout=120).returncode == -9
    again = run("ingest", folder / "runs", "--db", db)
    assert again.returncode == 0, again.stderr
    assert run("leaderboard", "--db", db, "--format", "json").stdout == said
    assert ask(db, "select count(*), count(distinct run_id) from runs") == [(6, 6)]


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_half_way(tmp_path, how):
    fill(tmp_path, 40, "x" * 30_000)  # over the size from which a group is written while the next is read
    db = tmp_path / "a.duckdb"
    child = slowed(tmp_path, db)
    wait_for(child, 2)
    child.send_signal(how)
    _, said = child.communicate(timeout=60)
    assert child.returncode == (130 if how == signal.SIGINT else -9), said
    if how == signal.SIGINT:
        assert "Traceback" not in said
    ((n,),) = ask(db, "select count(*) from runs")
    assert 10 <= n < 40, "what was committed is there"
    assert ask(db, "select count(*) from runs where run_id not in (select run_id from turns)") == [(0,)], "whole runs only"
    again = run("ingest", tmp_path / "runs", "--db", db)
    assert again.returncode == 0, again.stderr
    assert f"unchanged {n}" in again.stdout
    assert ask(db, "select count(*), count(distinct submitted_kernel_sha256) from runs") == [(40, 0)]
    assert ask(db, "select count(*) from kernels") == [(40,)]


def test_a_second_ingest_at_the_same_time(tmp_path):
    fill(tmp_path, 40, "x" * 30_000)
    db = tmp_path / "a.duckdb"
    child = slowed(tmp_path, db)
    wait_for(child, 1)
    second = run("ingest", tmp_path / "runs", "--db", db)
    assert second.returncode == 1
    assert second.stderr.count("\n") == 1
    assert str(child.pid) in second.stderr, "it names the process that holds it"
    third = run("ingest", tmp_path / "runs", "--db", db, "--wait")
    assert third.returncode == 0, third.stderr
    child.communicate(timeout=60)
    assert child.returncode == 0
    assert ask(db, "select count(*) from runs") == [(40,)]


def test_a_full_disk(tmp_path):
    fill(tmp_path, 10)
    db = tmp_path / "a.duckdb"
    assert run("ingest", tmp_path / "runs", "--db", db).returncode == 0
    size = db.stat().st_size
    other = tmp_path / "more"
    folder = fill(other, 30)
    for i, path in enumerate(sorted(folder.iterdir())):
        document = trajectory(100 + i, os.urandom(100_000).hex())
        path.with_name(f"level_1_problem_{100 + i}_trajectory.json").write_text(json.dumps(document))
        path.unlink()

    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1_000_000, size + 1_000_000))

    full = run("ingest", other, "--db", db, preexec_fn=limit)
    assert full.returncode == 1, full.stdout
    assert "Traceback" not in full.stderr
    assert full.stderr.count("\n") == 1
    assert "cannot be written" in full.stderr
    again = run("ingest", tmp_path / "runs", other, "--db", db)
    assert again.returncode == 0, again.stderr
    assert ask(db, "select count(*) from runs") == [(40,)]


def test_a_folder_in_which_nothing_can_be_made(tmp_path):
    fill(tmp_path, 1)
    bad = run("ingest", tmp_path / "runs", "--db", "/proc/kbstats.duckdb")
    assert bad.returncode == 1
    assert "Traceback" not in bad.stderr
    assert "/proc/kbstats.duckdb" in bad.stderr


def unprivileged():
    """Without what lets root pass by permissions."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.skipif(sys.platform != "linux", reason="permissions of root are taken away by Linux's means")
def test_what_cannot_be_read_is_rejected_and_read_once_it_can_be(tmp_path):
    folder = fill(tmp_path, 3)
    (folder / "level_1_problem_1_trajectory.json").chmod(0)
    closed = tmp_path / "runs/s_all/original/closed"
    closed.mkdir(mode=0)
    db = tmp_path / "a.duckdb"
    p = run("ingest", "runs", "--db", db, preexec_fn=unprivileged, cwd=tmp_path)
    assert p.returncode == 3
    assert "rejected runs/s_all/original/m/level_1_problem_1_trajectory.json: the file cannot be read: Permission denied; make it readable" in p.stdout
    assert "rejected runs/s_all/original/closed: the folder cannot be entered: Permission denied; make the folder readable" in p.stdout
    assert ask(db, "select count(*) from runs") == [(2,)]
    (folder / "level_1_problem_1_trajectory.json").chmod(0o644)
    closed.chmod(0o755)
    assert run("ingest", "runs", "--db", db, preexec_fn=unprivileged, cwd=tmp_path).returncode == 0
    assert ask(db, "select count(*) from runs") == [(3,)]
    assert ask(db, "select count(*) from ingest_issues") == [(0,)]


@pytest.mark.skipif(sys.platform != "linux", reason="permissions of root are taken away by Linux's means")
def test_a_read_only_folder(tmp_path):
    fill(tmp_path, 2)
    place = tmp_path / "db"
    place.mkdir()
    db = place / "a.duckdb"
    assert run("ingest", tmp_path / "runs", "--db", db).returncode == 0
    board = run("leaderboard", "--db", db).stdout
    for path in sorted((tmp_path / "runs").rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    db.chmod(0o444)
    place.chmod(0o555)
    try:
        assert run("leaderboard", "--db", db, preexec_fn=unprivileged).stdout == board, "reading needs no more"
        for name in (db, place / "new.duckdb"):
            p = run("ingest", tmp_path / "runs", "--db", name, preexec_fn=unprivileged)
            assert (p.returncode, p.stderr.count("\n")) == (1, 1)
            assert "permission denied" in p.stderr
            assert "or name another with --db" in p.stderr
        p = run("ingest", tmp_path / "runs", "--db", tmp_path / "b.duckdb", preexec_fn=unprivileged)
        assert p.returncode == 0, "traces are never written to"
        assert sorted(p.name for p in place.iterdir()) == ["a.duckdb"]
    finally:
        place.chmod(0o755)
        for path in (tmp_path / "runs", *sorted((tmp_path / "runs").rglob("*"))):
            path.chmod(0o755)
    db.chmod(0o644)
    set_meta(db, derived="stale")
    db.chmod(0o444)
    p = run("leaderboard", "--db", db, preexec_fn=unprivileged)
    assert (p.returncode, p.stderr.count("\n")) == (1, 1)
    assert "open it once where it can be written" in p.stderr


def set_meta(db, **values):
    con = duckdb.connect(str(db))
    for key, value in values.items():
        con.execute("insert or replace into meta values (?, ?)", [key, value])
    con.close()


def test_an_older_database_is_rebuilt_from_its_sources(tmp_path):
    folder = fill(tmp_path, 5)
    db = tmp_path / "a.duckdb"
    assert run("ingest", tmp_path / "runs", "--db", db).returncode == 0
    set_meta(db, schema_hash="of old", kbstats_version="0.0.1")
    (folder / "level_1_problem_4_trajectory.json").unlink()
    new = fill(tmp_path / "new", 1)
    document = trajectory(77)
    (new / "level_1_problem_0_trajectory.json").write_text(json.dumps(document))
    told = run("ingest", tmp_path / "new", "--db", db)
    assert told.returncode == 0, told.stderr
    assert "0.0.1" in told.stderr
    assert "1 are gone" in told.stderr
    assert ask(db, "select count(*) from runs") == [(5,)], "four of five, and the new one"
    assert ask(tmp_path / "a.duckdb.0.0.1.old", "select count(*) from runs") == [(5,)], "nothing was thrown away"


def test_a_newer_database_is_refused(tmp_path):
    fill(tmp_path, 1)
    db = tmp_path / "a.duckdb"
    assert run("ingest", tmp_path / "runs", "--db", db).returncode == 0
    set_meta(db, schema_hash="of tomorrow", kbstats_version="99.0.0")
    before = db.read_bytes()
    told = run("ingest", tmp_path / "runs", "--db", db)
    assert told.returncode == 1
    assert "99.0.0" in told.stderr
    assert db.read_bytes() == before


def test_names_in_any_encoding(tmp_path):
    """No UTF-8, line ends, quotes, control characters: each file is read, found again, and printed as one harmless line."""
    plain = fill(tmp_path, 1) / "level_1_problem_0_trajectory.json"
    names = [b"no\xff\xfeutf8", "\u6a21\u578b-\u00e9".encode(), "caf\u00e9".encode("latin-1"), b"two\nlines", b"it's \"quoted\"; drop table runs; --", b"\x1b[31mred", b" blank ", b"$HOME*?"]
    for i, name in enumerate(names):
        path = tmp_path / "runs/s_all/original" / os.fsdecode(name) / f"level_1_problem_{i + 1}_trajectory.json"
        path.parent.mkdir()
        document = {**trajectory(i + 1), "model_name": f"model {i}"}
        path.write_text(json.dumps(document)[: None if i % 2 else -3])
        os.utime(path, (time.time() - 3600,) * 2)
    assert plain.exists()
    db = tmp_path / "a.duckdb"
    p = run("ingest", "runs", "--db", db, cwd=tmp_path)
    assert p.returncode == 3
    assert len(p.stdout.splitlines()) < 15
    assert "\x1b" not in p.stdout
    assert p.stdout.count("the file ends in the middle") == 4
    assert ask(db, "select count(*) from sources") == [(9,)]
    again = run("ingest", "runs", "--db", db, cwd=tmp_path)
    assert "unchanged 9" in again.stdout
    assert ask(db, "select count(*), count(distinct path) from sources where status = 'ok'") == [(5, 5)]
    shutil.rmtree(tmp_path / "runs")
    (tmp_path / "runs").mkdir()
    assert "removed 9" in run("ingest", "runs", "--db", db, "--prune", cwd=tmp_path).stdout
    assert ask(db, "select (select count(*) from runs) + (select count(*) from sources)") == [(0,)]


def test_many_files(wh, tmp_path):
    n = 100_000 if SLOW else 20_000
    folder = fill(tmp_path, 500)
    for i in range(n - 500):
        os.close(os.open(folder / f"note_{i}.txt", os.O_CREAT | os.O_WRONLY))
    summary = wh.ingest(tmp_path)
    assert (summary.seen, summary.new, summary.ignored[".txt"]) == (n, 500, n - 500)
    start = time.perf_counter()
    assert wh.ingest(tmp_path).unchanged == 500
    assert time.perf_counter() - start < 60


def test_a_large_file(wh, tmp_path):
    size = 1 << 30 if SLOW else 40 << 20
    path = tmp_path / "runs/s_all/original/m/level_1_problem_1_trajectory.json"
    path.parent.mkdir(parents=True)
    head = json.dumps(trajectory(1))
    with path.open("w") as f:
        f.write(head[:-1].replace('"turns": [{', '"turns": [{"messages_in": [{"role": "tool", "content": "', 1))
        cut = f.tell()
        f.seek(0)
        before, after = head.split('"turns": [{', 1)
        f.truncate()
        f.write(before + '"turns": [{"messages_in": [{"role": "tool", "content": "')
        for _ in range(size >> 20):
            f.write("y" * (1 << 20))
        f.write('"}], ' + after)
    assert cut
    assert wh.ingest(tmp_path).runs == 1
    assert wh.one("select count(*) from tool_calls") == 1
    assert wh.one("select size_bytes from sources") > size


def test_a_file_that_grows_while_it_is_read(wh, tmp_path):
    path = tmp_path / "runs/s_all/original/m/level_1_problem_1_trajectory.json"
    path.parent.mkdir(parents=True)
    text = json.dumps(trajectory(1, "z" * 400_000))
    path.write_text("")

    def grow():
        with path.open("a") as f:
            for i in range(0, len(text), 20_000):
                f.write(text[i : i + 20_000])
                f.flush()
                time.sleep(0.01)

    writer = threading.Thread(target=grow)
    writer.start()
    while writer.is_alive():
        summary = wh.ingest(tmp_path)
        assert not summary.issues.keys() - {"truncated", "empty_file"}
        assert wh.one("select count(*) from runs") == wh.one("select count(*) from sources where status = 'ok'")
    writer.join()
    wh.ingest(tmp_path)
    assert wh.rows("select status, n_runs from sources") == [{"status": "ok", "n_runs": 1}]
    assert wh.one("select count(*) from ingest_issues") == 0
