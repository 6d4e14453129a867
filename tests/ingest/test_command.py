"""`kbstats ingest` as a user runs it."""

from __future__ import annotations

import json
import shutil

from kbstats.analytics.commands.ingest import lines
from kbstats.ingest.issue_codes import CODES, STEPS
from kbstats.ingest.pipeline import IngestSummary

GOOD = "popcornbench/runs/demo_old_single"


def test_exit_codes_and_summary(kbstats, data, tmp_path):
    runs = tmp_path / "runs"
    shutil.copytree(data / GOOD, runs / "demo_old_single")
    (runs / "notes.txt").write_text("x")
    db = tmp_path / "a.duckdb"
    p = kbstats("ingest", runs, "--db", db)
    assert (p.returncode, p.stderr) == (0, "")
    assert "new 1" in p.stdout
    assert ".txt 1" in p.stdout
    p = kbstats("ingest", runs, "--db", db)
    assert "unchanged 1" in p.stdout
    (runs / "demo_old_single/model-x/level_1_problem_9_trajectory.json").write_bytes(b"\xff\xfe\x00garbage")
    p = kbstats("ingest", runs, "--db", db)
    assert p.returncode == 3
    assert "rejected 1" in p.stdout
    p = kbstats("ingest", runs, "--db", tmp_path / "b.duckdb", "--strict")
    assert p.returncode == 1


def test_wrong_words(kbstats, data, tmp_path):
    for args in (
        [tmp_path / "nowhere"],
        [data / GOOD, "--format", "nonsense"],
        [data / GOOD, "--map", tmp_path / "no.toml"],
    ):
        p = kbstats("ingest", *args, "--db", tmp_path / "a.duckdb")
        assert p.returncode == 2, p.stderr
        assert len(p.stderr.splitlines()) == 1
        assert "Traceback" not in p.stderr


def test_the_summary_fits_80_columns():
    s = IngestSummary(
        seen=123456, new=99999, unchanged=31, rejected=7, partial=8, runs=10**7, turns=10**8, tool_calls=10**8
    )
    s.ignored.update({f".suffix{i}": 1000 + i for i in range(40)})
    s.issues.update({f"some_code_{i}": 10 + i for i in range(20)})
    out = lines(s)
    assert max(map(len, out)) <= 80
    assert any("unchanged 31" in line for line in out)


def test_a_rejected_named_file_is_named(kbstats, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    for _ in range(2):
        p = kbstats("ingest", tmp_path / "t.csv", "--db", tmp_path / "a.duckdb")
        assert p.returncode == 3
        assert "t.csv: no format claims it; --map FILE for a table" in p.stdout


def test_damage_counts_on_every_run(kbstats, data, tmp_path):
    import os

    path = tmp_path / "runs/level_1_problem_9_trajectory.json"
    path.parent.mkdir()
    path.write_bytes(b"\xff\xfe\x00garbage")
    os.utime(path, (1e9, 1e9))
    outputs = [kbstats("ingest", path.parent, "--db", tmp_path / "a.duckdb") for _ in range(2)]
    assert [p.returncode for p in outputs] == [3, 3]
    assert "rejected 1 (unchanged)" in outputs[1].stdout
    assert kbstats("ingest", path.parent, "--db", tmp_path / "a.duckdb", "--strict").returncode == 1


def test_damaged_files_are_named_with_place_and_step(kbstats, data, tmp_path):
    good = next((data / GOOD).rglob("*_trajectory.json"))
    folder = tmp_path / "runs/s_all/original/m"
    folder.mkdir(parents=True)
    for i in range(7):
        (folder / f"level_1_problem_{i}_trajectory.json").write_text("no JSON" if i == 6 else good.read_text()[: 900 + i])
    db = tmp_path / "a.duckdb"
    for _ in range(2):  # also when nothing is new
        p = kbstats("ingest", tmp_path / "runs", "--db", db, cwd=tmp_path)
        assert p.returncode == 3
        named = [line for line in p.stdout.splitlines() if "_trajectory.json" in line]
        assert len(named) == 5
        assert named[0].startswith("rejected runs/s_all/original/m/level_1_problem_6_trajectory.json: not JSON"), "rejected ones first"
        assert named[1].startswith("partial  runs/s_all/original/m/level_1_problem_0_trajectory.json: the file ends in the middle")
        assert "(character " in named[1]
        assert named[1].endswith("it is read again when it changes")
        assert f"and 2 more: `kbstats doctor --db {db}` names all" in p.stdout
    told = json.loads(kbstats("doctor", "--db", db, "--format", "json").stdout)
    assert [r["what"] for r in told].count("file partial") == 6
    (truncated,) = (r for r in told if r["what"] == "issue truncated")
    assert truncated["found"].startswith("6 (error). The file ends in the middle of a document")
    assert truncated["hint"] == STEPS["truncated"]


def test_every_step_is_of_a_code():
    assert STEPS.keys() <= CODES.keys()


def test_a_folder_with_nothing_in_it_is_no_success(kbstats, data, tmp_path):
    (tmp_path / "wrong/below").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "wrong/below/notes.md").write_text("x")
    (tmp_path / "wrong/settings.json").write_text("{}")
    shutil.copytree(data / GOOD, tmp_path / "runs/demo_old_single")
    p = kbstats("ingest", "wrong", "empty", cwd=tmp_path)
    assert p.returncode == 3
    wrong, empty = (line for line in p.stdout.splitlines() if line.startswith("nothing"))
    assert wrong == "nothing  wrong: no format claims any of its 2 files (.json 1, .md 1); recognised near it: runs (popcornbench 1)"
    assert empty == "nothing  empty: an empty folder; recognised near it: runs (popcornbench 1)"
    p = kbstats("ingest", "runs", "wrong", cwd=tmp_path)
    assert p.returncode == 3, "one of two"
    assert p.stdout.count("nothing ") == 1
    for _ in range(2):
        assert kbstats("ingest", "runs", cwd=tmp_path).returncode == 0, "nothing new is another thing"
    shutil.rmtree(tmp_path / "runs/demo_old_single")
    p = kbstats("ingest", "runs", "--prune", cwd=tmp_path)
    assert (p.returncode, "removed 1" in p.stdout) == (0, True), "emptied on purpose"
    p = kbstats("ingest", "runs", cwd=tmp_path)
    assert p.returncode == 3
    assert "runs: an empty folder; name the folder that holds the runs" in p.stdout, "nothing is near it any more"


def test_a_folder_of_tables_without_a_mapping(kbstats, tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t/mine.csv").write_text("a,b\n1,2\n")
    p = kbstats("ingest", tmp_path / "t", "--db", tmp_path / "a.duckdb")
    assert p.returncode == 3
    assert "no format claims any of its 1 file (.csv 1); --map FILE reads a table" in p.stdout
