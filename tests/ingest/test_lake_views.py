"""Shards through a lake against one plain ingest, row for row in every table and every view."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from kbstats.analytics import lakes, warehouse
from kbstats.ingest import pipeline
from kbstats.ingest.lake import Shard
from kbstats.ingest.lake_write import ingest_shard

TESTS = Path(__file__).resolve().parents[1]
HIDDEN = {"sources": "exclude (ingested_at)"}


def relations(con) -> list[str]:
    found = con.execute(
        "select table_name from duckdb_tables() where not internal and not temporary and schema_name = 'main' union "
        "select view_name from duckdb_views() where not internal and not temporary order by 1"
    ).fetchall()
    return [r[0] for r in found if r[0] != "meta"]


def assert_same(one: Path, other: Path) -> None:
    with contextlib.closing(warehouse.open_read(one)) as a, contextlib.closing(warehouse.open_read(other)) as b:
        names = relations(a)
        assert names == relations(b)
        assert len(names) > 40
        for name in names:
            query = f"select * {HIDDEN.get(name, '')} from {name}"
            assert sorted(a.execute(query).fetchall(), key=repr) == sorted(b.execute(query).fetchall(), key=repr), name


def plain(db: Path, *paths: Path) -> None:
    with contextlib.closing(warehouse.open_write(db)) as con:
        pipeline.ingest(con, paths)
        warehouse.refresh(con)


def spread(folder: Path, n: int, *paths: Path) -> None:
    for i in reversed(range(n)):  # in any order
        ingest_shard(paths, folder, Shard(i, n))


def test_every_view_of_the_sample_data(tmp_path):
    paths = [TESTS.parent / "data", TESTS / "data"]
    plain(tmp_path / "p.duckdb", *paths)
    spread(tmp_path / "lake", 3, *paths)
    lakes.attach(tmp_path / "lake", tmp_path / "l.duckdb")
    assert_same(tmp_path / "p.duckdb", tmp_path / "l.duckdb")


@pytest.mark.real
def test_every_view_of_real_traces(real, tmp_path):
    plain(tmp_path / "p.duckdb", real)
    spread(tmp_path / "lake", 4, real)
    lakes.attach(tmp_path / "lake", tmp_path / "l.duckdb")
    assert_same(tmp_path / "p.duckdb", tmp_path / "l.duckdb")


def test_a_lake_is_a_database_that_follows_it(kbstats, tmp_path):
    runs = TESTS.parent / "data" / "runs"
    lake = tmp_path / "lake"
    for i in range(2):
        kbstats("ingest", runs, "--shard", f"{i}/2", "--lake", lake)
    board = kbstats("leaderboard", "--db", lake, "--format", "json")
    assert board.returncode == 0
    kbstats("ingest", runs, "--db", tmp_path / "p.duckdb")
    assert kbstats("leaderboard", "--db", tmp_path / "p.duckdb", "--format", "json").stdout == board.stdout
    more = TESTS / "data" / "ingest"
    kbstats("ingest", more, "--lake", lake)
    assert kbstats("leaderboard", "--db", lake, "--format", "json").stdout != board.stdout
    assert kbstats("sql", "select count(*) as n from runs", "--db", lake, "--format", "csv").returncode == 0


def test_sources_from_elsewhere_stay_when_a_lake_is_attached_again(tmp_path):
    lake, db = tmp_path / "lake", tmp_path / "l.duckdb"
    spread(lake, 1, TESTS.parent / "data" / "runs")
    lakes.attach(lake, db)
    results = TESTS.parent / "data" / "verifications"
    plain(db, results)
    with contextlib.closing(warehouse.open_read(db)) as con:
        before = con.execute("select count(*) from verifications").fetchall()
    assert before != [(0,)]
    lakes.attach(lake, db)
    with contextlib.closing(warehouse.open_read(db)) as con:
        assert con.execute("select count(*) from verifications").fetchall() == before
