"""Archives are read like the folders they were made of, and nothing leaves them."""

from __future__ import annotations

import gzip
import io
import os
import random
import shutil
import tarfile
import zipfile

import pytest
import zstandard
from kbstats.ingest import archives

ONE = "demo_all/popcorn/model-x/level_1_problem_1_trajectory.json"
COLUMNS = "run_id, sweep, variant, model_raw, level, problem_id, speedup, submitted_kernel_sha256"


@pytest.fixture
def runs(data):
    return data / "popcornbench/runs"


def pack(folder, target):
    name = target.name
    if name.endswith(".zip"):
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as z:
            for path in sorted(folder.rglob("*.*")):
                z.write(path, path.relative_to(folder.parent))
        return
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        tar.add(folder, folder.name)
    body = raw.getvalue()
    if name.endswith(("gz", "tgz")):
        body = gzip.compress(body)
    elif name.endswith("zst"):
        body = zstandard.compress(body)
    target.write_bytes(body)


def tree(wh, *paths):
    wh.ingest(*paths)
    return wh.rows(f"select {COLUMNS} from runs order by all"), wh.rows("select code, count(*) as n from ingest_issues group by 1 order by 1")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tar.gz", "a.tgz", "a.tar.zst", "a.tzst"])
def test_packed_runs_are_the_same_runs(wh, runs, tmp_path, name):
    import duckdb
    from kbstats.ingest import pipeline
    from kbstats.sql import catalog

    pack(runs, tmp_path / name)
    got, issues = tree(wh, tmp_path / name)
    other = duckdb.connect()
    catalog.create_schema(other)
    pipeline.ingest(other, [runs])
    want = other.execute(f"select {COLUMNS} from runs order by all").fetchall()
    assert [tuple(r.values()) for r in got] == want
    assert [tuple(i.values()) for i in issues] == other.execute("select code, count(*) as n from ingest_issues group by 1 order by 1").fetchall()
    assert wh.column("select distinct split_part(path, '!/', 1) from ingest_issues") == [str(tmp_path / name)], "issues name the archive, no temporary folder"


@pytest.mark.parametrize("name", ["x.json.gz", "x.json.zst"])
def test_one_compressed_file(wh, runs, tmp_path, name):
    raw = (runs / ONE).read_bytes()
    name = name.replace("x", "level_1_problem_1_trajectory")
    (tmp_path / name).write_bytes(gzip.compress(raw) if name.endswith("gz") else zstandard.compress(raw))
    wh.ingest(tmp_path)
    assert wh.one("select count(*) from runs") == 1
    assert wh.column("select path from sources order by 1")[-1].endswith(f"{name}!/level_1_problem_1_trajectory.json")


def old(path):
    t = path.stat().st_mtime - 3600
    os.utime(path, (t, t))


def test_again_and_changed(wh, runs, tmp_path):
    folder = tmp_path / "runs"
    shutil.copytree(runs / "demo_all", folder / "demo_all")
    target = tmp_path / "a.zip"
    pack(folder, target)
    old(target)
    first = wh.ingest(target)
    again = wh.ingest(target)
    assert (again.unchanged, again.new, again.bytes_read) == (first.new, 0, 0)
    (folder / ONE.replace("_1_traj", "_3_traj")).unlink()
    path = folder / ONE.replace("_1_traj", "_10_traj")
    path.write_text(path.read_text().replace('"model-x"', '"model-q"', 1))
    pack(folder, target)
    third = wh.ingest(target)
    assert (third.changed, third.removed, third.new, third.unchanged) == (1, 1, 0, first.new - 2)
    assert wh.one("select count(*) from runs where model_raw = 'model-q'") == 1
    target.unlink()
    assert wh.ingest(tmp_path / "runs", tmp_path, prune=True).removed == first.new
    assert wh.one("select count(*) from sources where path like '%!/%'") == 0


def test_nothing_leaves_the_archive(wh, runs, tmp_path):
    raw = (runs / ONE).read_bytes()
    target = tmp_path / "in/a.tar"
    target.parent.mkdir()
    names = ["../escape.json", "/tmp/abs.json", "a/../../up.json", "..\\win.json", "C:\\x.json", "runs/m/level_1_problem_1_trajectory.json"]
    with tarfile.open(target, "w") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            tar.addfile(info, io.BytesIO(raw))
        for kind, name in ((tarfile.SYMTYPE, "l.json"), (tarfile.LNKTYPE, "h.json"), (tarfile.CHRTYPE, "d.json"), (tarfile.FIFOTYPE, "f.json")):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
    before = set(tmp_path.rglob("*"))
    wh.ingest(target)
    assert set(tmp_path.rglob("*")) == before
    assert not (tmp_path / "escape.json").exists()
    assert wh.one("select count(*) from runs") == 1
    assert wh.column("select location from ingest_issues where code = 'member_path' order by 1") == sorted(names[:5])


def test_bombs(wh, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "MEMBER_BYTES", 1 << 20)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("big.json", b"[" + b"0," * (1 << 20))
        z.writestr("runs/m/small.json", b"{}")
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(b" " * (2 << 20)))
    wh.ingest(tmp_path)
    assert wh.column("select code from ingest_issues order by path") == ["member_too_large", "member_too_large"]
    monkeypatch.setattr(archives, "TOTAL_BYTES", 3000)
    with zipfile.ZipFile(tmp_path / "c.zip", "w") as z:
        for i in range(9):
            z.writestr(f"{i}.json", b" " * 1000)
    wh.ingest(tmp_path / "c.zip")
    assert wh.column("select code from ingest_issues where path like '%c.zip'") == ["archive_too_large"]
    assert wh.one("select status from sources where path like '%c.zip'") == "partial"


def test_damaged_archives(wh, runs, tmp_path):
    shutil.copytree(runs / "demo_all", tmp_path / "in/demo_all")
    (tmp_path / "in/zz.txt").write_text(random.Random(1).randbytes(200_000).hex())
    pack(tmp_path / "in", tmp_path / "good.tar.gz")
    shutil.rmtree(tmp_path / "in")
    raw = (tmp_path / "good.tar.gz").read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(raw[: len(raw) // 2])
    (tmp_path / "noise.zip").write_bytes(b"PK\x03\x04 nothing")
    (tmp_path / "noise.tar.zst").write_bytes(b"(\xb5/\xfd" + bytes(200))
    (tmp_path / "core.gz").write_bytes(b"\x1f\x8b not read at all")
    (tmp_path / "good.tar.gz").unlink()
    summary = wh.ingest(tmp_path)
    assert summary.partial == 3
    assert wh.column("select status from sources where format = 'archive'") == ["partial"] * 3
    assert summary.ignored == {".gz": 1}
    assert wh.one("select count(*) from ingest_issues where code = 'truncated' and path not like '%!/%'") == 3
    assert wh.one("select count(*) from runs") == 11, "what came before the cut is there"


def test_zip_members_of_every_kind(tmp_path):
    from kbstats.ingest.archives import unpack

    target = tmp_path / "a.zip"
    with zipfile.ZipFile(target, "w") as z:
        z.writestr("stored.json", b"1")
        z.writestr("twice.json", b"old")
        with pytest.warns(UserWarning, match="Duplicate name"):
            z.writestr("twice.json", b"new")
        z.writestr("picture.png", b"no")
        z.writestr("deep/flate.json", b"2" * 999, zipfile.ZIP_DEFLATED)
    found = {}
    told = []
    for path, name in unpack(target, tmp_path / "out", lambda *a: told.append(a)):
        found[name] = path.read_bytes()
    assert found == {"stored.json": b"1", "twice.json": b"new", "deep/flate.json": b"2" * 999}
    assert told == []
