"""`kbstats ingest` as a user runs it."""

from __future__ import annotations

import shutil

from kbstats.analytics.commands.ingest import lines
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
