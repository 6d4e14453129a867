"""The database file: what a stopped process leaves behind is finished by the next one."""

from __future__ import annotations

from pathlib import Path

import duckdb
from kbstats.analytics import warehouse
from kbstats.ingest.pipeline import ingest
from kbstats.sql import catalog

RUNS = Path(__file__).resolve().parent.parent / "data" / "runs"


def board(con) -> int:
    return con.execute("select count(*) from board() where n > 0").fetchall()[0][0]


def test_an_ingest_stopped_before_its_end_is_finished_by_a_reader(tmp_path: Path) -> None:
    con = warehouse.open_write(tmp_path / "x.duckdb")
    ingest(con, [RUNS])
    assert warehouse.is_stale(con)
    con.close()  # stopped here: rows are committed, stored models are empty
    con = warehouse.open_read(tmp_path / "x.duckdb")
    assert board(con) == con.execute("select count(distinct model) from runs").fetchall()[0][0] == 3
    assert not warehouse.is_stale(con)
    con.close()


def test_and_by_an_ingest_that_finds_nothing_new(kbstats, tmp_path: Path) -> None:
    con = warehouse.open_write(tmp_path / "x.duckdb")
    ingest(con, [RUNS])
    con.close()
    p = kbstats("ingest", RUNS, "--db", tmp_path / "x.duckdb")
    assert p.returncode == 0
    con = duckdb.connect(str(tmp_path / "x.duckdb"), read_only=True)
    assert board(con) == 3
    con.close()


def test_a_file_without_tables_is_a_new_one(tmp_path: Path) -> None:
    duckdb.connect(str(tmp_path / "x.duckdb")).close()
    con = warehouse.open_write(tmp_path / "x.duckdb")
    assert con.execute("select count(*) from runs").fetchall() == [(0,)]
    con.close()


def test_a_word_in_the_documentation_makes_nobody_rebuild(monkeypatch) -> None:
    before = catalog.digest("schema")
    files = catalog.sql_files("schema")
    reworded = tuple(catalog._parse("schema", f.name, f.sql.replace("-- ", "-- put better: ")) for f in files)
    changed = (*files[1:], catalog._parse("schema", "runs", files[0].sql.replace("varchar", "bigint", 1)))
    monkeypatch.setattr(catalog, "sql_files", lambda _kind: reworded)
    assert catalog.digest("schema") == before
    monkeypatch.setattr(catalog, "sql_files", lambda _kind: changed)
    assert catalog.digest("schema") != before
