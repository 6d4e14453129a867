"""A file that changed, a file that was cut short meanwhile, and a kbstats that reads otherwise."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest
from kbstats.ingest import readers

TABLES = ("runs", "turns", "messages", "tool_calls", "compile_errors", "timeouts", "metrics", "kernels", "problems")


def rows(wh):
    return {t: sorted(map(repr, wh.con.execute(f"from {t}").fetchall())) for t in TABLES}


def age(path):
    for p in path.rglob("*") if path.is_dir() else (path,):
        os.utime(p, (time.time() - 3600,) * 2)


@pytest.fixture
def trajectory(tmp_path, data):
    folder = tmp_path / "runs"
    shutil.copytree(data / "popcornbench/runs/demo_all", folder / "demo_all")
    return folder / "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"


@pytest.mark.parametrize("share", [0, 0.02, 0.5, 0.98])
def test_a_file_that_is_being_rewritten_keeps_what_is_known(wh, trajectory, share):
    wh.ingest(trajectory)
    before = rows(wh)
    whole = trajectory.read_text()
    trajectory.write_text(whole[: int(len(whole) * share)])
    summary = wh.ingest(trajectory)
    assert summary.partial + summary.rejected == 1
    assert rows(wh) == before
    assert wh.one("select status, n_runs from sources") in {("partial", 1), ("rejected", 1)}
    assert "kept_old_rows" in wh.column("select code from ingest_issues")
    assert wh.ingest(trajectory).new == 0
    assert rows(wh) == before
    run = json.loads(whole)
    run["turns"] = run["turns"][:1]
    trajectory.write_text(json.dumps(run))
    wh.ingest(trajectory)
    assert wh.one("select status from sources") == "ok"
    assert wh.one("select count(*) from turns") == 1, "a whole file replaces what was there, also by less"
    assert "kept_old_rows" not in wh.column("select code from ingest_issues")



def test_a_file_that_grows_line_by_line_is_followed(wh, tmp_path, data):
    folder = tmp_path / "ralph_demo"
    shutil.copytree(data.parent / "ralph/ralph_demo", folder)
    path = folder / "results.jsonl"
    lines = path.read_text().splitlines()
    counts = []
    for text in ("\n".join(lines[:2]) + "\n", "\n".join(lines[:3]) + "\n" + lines[3][:20], "\n".join(lines) + "\n"):
        path.write_text(text)
        wh.ingest(path)
        counts.append(wh.one("select count(*) from runs"))
    assert counts == sorted(counts)
    assert counts[0] < counts[1]
    path.write_text("\n".join(lines[:1]) + "\n" + lines[1][:20])  # rewritten from the start
    before = rows(wh)
    assert wh.ingest(path).partial == 1
    assert rows(wh) == before


def test_verifications_of_a_file_that_is_rewritten_stay(wh, tmp_path, data):
    path = tmp_path / "results.jsonl"
    text = (data / "verifications/results.jsonl").read_text()
    path.write_text(text)
    wh.ingest(path)
    before = wh.con.execute("from verifications").fetchall(), wh.con.execute("from verification_timings").fetchall()
    assert len(before[0]) == 2
    path.write_text(text[:200])
    wh.ingest(path)
    assert (wh.con.execute("from verifications").fetchall(), wh.con.execute("from verification_timings").fetchall()) == before


def test_a_copy_stays_a_copy(wh, trajectory):
    """The new version lacks a run of which the old one stands among the copies."""
    other = trajectory.parent.parent / "again" / trajectory.name
    other.parent.mkdir()
    shutil.copy(trajectory, other)
    age(trajectory)
    wh.ingest(trajectory, other)
    assert wh.one("select count(*) from run_copies") == 1
    loser = wh.one("select path from sources where source_id in (select source_id from run_copies)")
    for path in (trajectory, other):
        if str(path) == loser:
            path.write_text(path.read_text()[:300])
    wh.ingest(trajectory, other)
    assert wh.one("select count(*) from run_copies") == 1


def test_readers_that_read_otherwise_read_again(wh, trajectory, monkeypatch):
    folder = trajectory.parents[2]
    age(folder)
    n = wh.ingest(folder).new
    assert wh.ingest(folder).unchanged == n
    before = rows(wh)
    wh.con.execute("update compile_errors set class = 'old'")
    monkeypatch.setattr(readers, "fingerprint", lambda: "another version")
    one = wh.ingest(trajectory)  # of what is walked; the rest waits
    assert (one.changed, one.unchanged) == (1, 0)
    rest = wh.ingest(folder)
    assert (rest.changed, rest.unchanged) == (n - 1, 1)
    assert rows(wh) == before
    assert wh.ingest(folder).unchanged == n


def test_an_archive_too(wh, trajectory, tmp_path, monkeypatch):
    archive = shutil.make_archive(str(tmp_path / "a"), "zip", trajectory.parents[2])
    os.utime(archive, (time.time() - 3600,) * 2)
    n = wh.ingest(archive).new
    assert n
    assert wh.ingest(archive).changed == 0
    monkeypatch.setattr(readers, "fingerprint", lambda: "another version")
    assert wh.ingest(archive).changed == n
    assert wh.ingest(archive).changed == 0


def test_what_decides_what_is_read_is_part_of_the_fingerprint(monkeypatch):
    before = readers.fingerprint()
    readers.fingerprint.cache_clear()
    monkeypatch.setattr(readers.registry, "names", lambda: ["mine"])
    monkeypatch.setattr(readers.registry, "is_built_in", lambda _name: False)
    monkeypatch.setattr(readers.registry, "version_of", lambda _name: "mine=m:F@1")
    other = readers.fingerprint()
    readers.fingerprint.cache_clear()
    assert other != before
    assert len(other) == 32
