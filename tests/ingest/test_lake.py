"""Shards into a lake, and the lake into a database: the same rows as one plain ingest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kbstats.ingest import lake_attach, lake_compact, readers
from kbstats.ingest.errors import KbstatsError, UsageError
from kbstats.ingest.lake import Lake, Shard
from kbstats.ingest.lake_write import ingest_shard
from kbstats.ingest.rows import ROW_TYPES

TESTS = Path(__file__).resolve().parents[1]
SAMPLES = TESTS.parent / "data"
TABLES = ("sources", "run_links", *ROW_TYPES)


def rows(con, table: str) -> list[tuple]:
    """All rows of a table, sorted; when a source was read is left out."""
    hidden = "exclude (ingested_at)" if table == "sources" else ""
    return sorted(con.execute(f"select * {hidden} from {table}").fetchall(), key=repr)


def assert_same(one, other) -> None:
    for table in TABLES:
        assert rows(one, table) == rows(other, table), table


def through_a_lake(wh, folder: Path, n: int, *paths: Path, **options):
    for i in range(n):
        ingest_shard(list(paths), folder, Shard(i, n), **options)
    return lake_attach.attach(wh.con, Lake.open(folder))


@pytest.fixture
def other(wh):
    warehouse = type(wh)()
    yield warehouse
    warehouse.con.close()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_shards_of_all_sample_data_equal_one_plain_ingest(wh, other, tmp_path, n):
    paths = [SAMPLES, TESTS / "data"]
    wh.ingest(*paths)
    done = through_a_lake(other, tmp_path / "lake", n, *paths)
    assert done.sources == wh.one("select count(*) from sources")
    assert wh.one("select count(*) from run_copies") > 0
    assert wh.one("select count(*) from run_links") > 0
    assert_same(wh.con, other.con)


@pytest.fixture
def runs(data, tmp_path):
    target = tmp_path / "runs"
    shutil.copytree(data / "popcornbench/runs", target)
    return target


def test_merged_parts_say_the_same(wh, other, runs, tmp_path):
    wh.ingest(runs)
    through_a_lake(other, tmp_path / "lake", 3, runs)
    lake = Lake.open(tmp_path / "lake")
    done = lake_compact.compact(lake)
    assert (done.parts_before, done.parts_after, done.rows_dropped) == (3, 1, 0)
    lake_attach.attach(other.con, lake)
    assert_same(wh.con, other.con)
    assert len(list((tmp_path / "lake/runs").rglob("*.parquet"))) == 1


def test_a_second_pass_reads_what_changed_whatever_the_number_of_shards(wh, other, runs, tmp_path):
    lake = tmp_path / "lake"
    through_a_lake(other, lake, 2, runs)
    changed, gone = sorted(runs.rglob("*_trajectory.json"))[:2]
    text = changed.read_text()
    changed.write_text(text.replace('"turn"', ' "turn"'))
    gone.unlink()
    summaries = [ingest_shard([runs], lake, Shard(i, 3), prune=True) for i in range(3)]
    assert sum(s.changed for s in summaries) == 1
    assert sum(s.new for s in summaries) == 0
    assert sum(s.removed for s in summaries) >= 1
    wh.ingest(runs)
    lake_attach.attach(other.con, Lake.open(lake))
    assert_same(wh.con, other.con)
    lake_compact.compact(Lake.open(lake))
    lake_attach.attach(other.con, Lake.open(lake))
    assert_same(wh.con, other.con)


@pytest.mark.parametrize("merge", [False, True])
def test_a_new_version_that_is_rejected_leaves_the_old_rows(wh, other, runs, tmp_path, merge):
    lake = tmp_path / "lake"
    wh.ingest(runs)
    through_a_lake(other, lake, 2, runs)
    broken = next(p for p in sorted(runs.rglob("*_trajectory.json")))
    broken.write_bytes(b"\x00\x01 no trajectory")
    wh.ingest(runs)
    through_a_lake(other, lake, 2, runs)
    if merge:
        lake_compact.compact(Lake.open(lake))
        lake_attach.attach(other.con, Lake.open(lake))
    assert wh.one("select count(*) from ingest_issues where code = 'kept_old_rows'") == 1
    assert_same(wh.con, other.con)
    wh.ingest(runs)
    through_a_lake(other, lake, 2, runs)
    assert_same(wh.con, other.con)


def test_what_the_walk_found_out_stands_once(wh, other, tmp_path):
    folder = tmp_path / "given"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (folder / "away").symlink_to(tmp_path / "outside")
    named = tmp_path / "notes.xyz"
    named.write_text("nothing that a format claims")
    wh.ingest(folder, named)
    through_a_lake(other, tmp_path / "lake", 3, folder, named)
    assert wh.column("select code from ingest_issues order by 1") == ["outside_link", "unknown_format"]
    assert_same(wh.con, other.con)
    (folder / "away").unlink()
    through_a_lake(other, tmp_path / "lake", 3, folder, named)
    assert other.column("select code from ingest_issues") == ["unknown_format"]


def test_a_part_without_its_manifest_does_not_count(wh, runs, tmp_path):
    lake = Lake.make(tmp_path / "lake")
    ingest_shard([runs], lake.folder, Shard(0, 1))
    n = lake_attach.attach(wh.con, lake).runs
    assert n
    (manifest,) = (lake.folder / "_parts").glob("*/*.json")
    manifest.unlink()
    assert lake_attach.attach(wh.con, lake).runs == 0
    ingest_shard([runs], lake.folder, Shard(0, 1))
    assert lake_attach.attach(wh.con, lake).runs == n
    assert len(list((lake.folder / "runs").rglob("*.parquet"))) == 1, "what the killed one left is deleted"


def test_what_other_readers_have_read_is_read_again(wh, runs, tmp_path, monkeypatch):
    lake = Lake.make(tmp_path / "lake")
    n = ingest_shard([runs], lake.folder, Shard(0, 1)).new
    ingest_shard([runs], lake.folder, Shard(0, 1))  # what was read within two seconds of its change is looked at twice
    monkeypatch.setattr(readers, "fingerprint", lambda: "others")
    assert ingest_shard([runs], lake.folder, Shard(1, 2)).changed + ingest_shard([runs], lake.folder, Shard(0, 2)).changed == n
    lake_compact.compact(lake)
    (part,) = lake.parts()
    assert part.readers == "", "old and new ones"
    assert ingest_shard([runs], lake.folder, Shard(0, 1)).changed == n
    lake_attach.attach(wh.con, lake)
    assert wh.one("select count(*) from sources") == n


@pytest.mark.parametrize("text", ["", "1", "3/2", "-1/2", "0/0", "a/b", "1/2/3", "1.0/2", "½/2"])
def test_words_that_are_no_shard(text):
    with pytest.raises(UsageError):
        Shard.parse(text)


def test_shards_hold_each_file_once():
    for count in (1, 3, 7):
        shards = [Shard.parse(f"{i}/{count}") for i in range(1, count + 1)]  # a job array that counts from 1
        assert {s.index for s in shards} == set(range(count))
        for i in range(200):
            assert sum(s.holds(f"/runs/level_{i}_trajectory.json") for s in shards) == 1


def test_two_processes_never_write_one_shard(runs, tmp_path):
    lake = Lake.make(tmp_path / "lake")
    with lake.lock(Shard(0, 2).name):
        ingest_shard([runs], lake.folder, Shard(1, 2))
        with pytest.raises(KbstatsError, match="another process"):
            ingest_shard([runs], lake.folder, Shard(0, 2))


def test_a_lake_never_replaces_plain_ingests(wh, runs, tmp_path):
    wh.ingest(runs)
    before = rows(wh.con, "runs")
    with pytest.raises(KbstatsError, match="plain ingests"):
        through_a_lake(wh, tmp_path / "lake", 1, runs)
    assert rows(wh.con, "runs") == before


def test_a_folder_of_other_files_is_no_lake(runs):
    with pytest.raises(UsageError, match="other files"):
        ingest_shard([runs], runs, Shard(0, 1))
    with pytest.raises(UsageError, match="no lake"):
        Lake.open(runs)


@pytest.mark.parametrize("place", ["s3://bucket/lake", "gs://b/l", "https://host/lake", "ducklake:/x"])
def test_an_object_store_says_what_is_missing(place):
    for take in (Lake.make, Lake.open):
        with pytest.raises(UsageError, match=r"extension.*docs/scale\.md"):
            take(Path(place))
