"""A database over a lake: what is in it, what it refuses, and what it says when the lake is not where it was."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from kbstats.analytics import lakes, warehouse
from kbstats.ingest import lake_compact, lake_views, pipeline
from kbstats.ingest.errors import KbstatsError
from kbstats.ingest.lake import Lake, Shard
from kbstats.ingest.lake_write import ingest_shard

TESTS = Path(__file__).resolve().parents[1]
RUNS = TESTS.parent / "data" / "runs" / "samples_default" / "original" / "sample-a"
MORE = RUNS.with_name("sample-b")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A lake of one model's runs in two shards, a database over it, and one by a plain ingest."""
    folder = tmp_path_factory.mktemp("lakes")
    for i in range(2):
        ingest_shard([RUNS], folder / "it's a [lake]", Shard(i, 2))
    lakes.attach(folder / "it's a [lake]", folder / "l.duckdb")
    with contextlib.closing(warehouse.open_write(folder / "p.duckdb")) as con:
        pipeline.ingest(con, [RUNS])
        warehouse.refresh(con)
    return folder


@pytest.fixture
def lake(made, tmp_path):
    """The same, to be changed."""
    shutil.copytree(made / "it's a [lake]", tmp_path / "lake")
    lakes.attach(tmp_path / "lake", tmp_path / "l.duckdb")
    return tmp_path / "lake"


def ask(db, sql, *, sealed=False):
    with contextlib.closing(warehouse.open_read(db, sealed=sealed)) as con:
        return con.execute(sql).fetchall()


def test_calls_stay_in_the_lake(made):
    sql = "select table_name from duckdb_tables() where schema_name = 'main' and list_contains($1, table_name)"
    with contextlib.closing(warehouse.open_read(made / "l.duckdb")) as con:
        assert con.execute(sql, [list(lake_views.VIEWED)]).fetchall() == []
    n = "select (select count(*) from tool_calls), (select count(*) from kernels)"
    assert ask(made / "l.duckdb", n) == ask(made / "p.duckdb", n)
    own = "select count(*) from lake_own.tool_calls"
    assert ask(made / "l.duckdb", own) == [(0,)]


@pytest.mark.parametrize(
    "words", [["leaderboard"], ["failures"], ["audit"], ["failures", "--by", "problem"], ["leaderboard", "--by", "run"]]
)
def test_commands_say_the_same(kbstats, made, words):
    said = [kbstats(*words, "--format", "json", "--db", made / f"{db}.duckdb") for db in "lp"]
    assert said[0].returncode == 0
    assert said[0].stdout == said[1].stdout


def test_exports_are_the_same_bytes(kbstats, made, tmp_path):
    for db in "lp":
        assert kbstats("export", tmp_path / db, "--db", made / f"{db}.duckdb").returncode == 0
    names = sorted(p.relative_to(tmp_path / "l") for p in (tmp_path / "l").rglob("*.*"))
    assert names
    for name in names:
        assert (tmp_path / "l" / name).read_bytes() == (tmp_path / "p" / name).read_bytes(), name


def test_pages_of_runs_are_the_same(made, tmp_path):
    from kbstats.site.build import build

    for db in "lp":
        build(made / f"{db}.duckdb", tmp_path / db, title="t")
    pages = sorted(p.relative_to(tmp_path / "l") for p in (tmp_path / "l").rglob("*.html"))
    assert len(pages) > 10
    differ = [n for n in pages if (tmp_path / "l" / n).read_bytes() != (tmp_path / "p" / n).read_bytes()]
    assert differ == []


def test_its_file_is_not_published(kbstats, made, tmp_path):
    words = ["site", "build", "--no-redact", "--include-db", "-o", tmp_path / "s"]
    done = kbstats(*words, "--db", made / "l.duckdb")
    assert done.returncode == 2
    assert "the traces of this database are in a lake" in " ".join(done.stderr.split())


def test_a_query_reads_the_lake_and_nothing_else(kbstats, made, tmp_path):
    place = made / "it's a [lake]" / "turns" / "new.csv"
    assert ask(made / "l.duckdb", "select count(*) from tool_calls", sealed=True)[0][0] > 0
    quoted = str(place).replace("'", "''")
    for sql in (
        f"copy (select 1) to '{quoted}'",
        f"copy (select 1) to '{quoted}' (use_tmp_file false)",
        f"explain analyze copy (select 1) to '{quoted}' (use_tmp_file false)",
        "from read_text('/etc/passwd')",
        "set allowed_directories = ['/etc']",
    ):
        done = kbstats("sql", sql, "--db", made / "l.duckdb")
        assert done.returncode == 1, sql
        assert len(done.stderr.splitlines()) == 1
    assert not place.exists()


def test_a_lake_that_was_moved(kbstats, lake):
    lake.rename(lake.with_name("elsewhere"))
    db = lake.with_name("l.duckdb")
    for words in (["leaderboard"], ["sql", "select 1"], ["annotate", "x", "--verdict", "v", "--text", "t"]):
        done = kbstats(*words, "--db", db)
        assert done.returncode == 1
        said = " ".join(done.stderr.split())
        assert "the lake that this database reads is not there" in said
        assert "kbstats lake attach DIR --db" in said
    assert kbstats("lake", "attach", lake.with_name("elsewhere"), "--db", db).returncode == 0
    assert kbstats("leaderboard", "--db", db).returncode == 0


def test_a_lake_that_was_merged_and_one_that_grew(kbstats, lake):
    db = lake.with_name("l.duckdb")
    before = ask(db, "select count(*) from tool_calls")
    ingest_shard([MORE], lake, Shard(0, 1))
    assert ask(db, "select count(*) from tool_calls") == before, "parts that came later are not read"
    lake_compact.compact(Lake.open(lake))
    done = kbstats("show", "x", "--db", db)
    assert done.returncode == 1
    assert "the lake has changed since" in " ".join(done.stderr.split())
    lakes.attach(lake, db)
    assert ask(db, "select count(*) from tool_calls") > before
    assert ask(db, "select count(distinct model) from runs") == [(2,)]


def test_traces_go_into_the_lake_and_other_sources_into_the_database(kbstats, lake):
    db = lake.with_name("l.duckdb")
    done = kbstats("ingest", MORE, "--db", db)
    assert done.returncode == 1
    assert f"--lake {lake}" in " ".join(done.stderr.split()).replace(" ", "").replace("--lake", "--lake ")
    with contextlib.closing(warehouse.open_write(db)) as con, pytest.raises(KbstatsError, match="those of a lake"):
        pipeline.ingest(con, [MORE])
    results = TESTS.parent / "data" / "verifications"
    assert kbstats("ingest", results, "--db", db).returncode == 0
    assert ask(db, "select count(*) from verifications")[0][0] > 0


def test_a_kernel_that_nothing_mentions_is_hidden(lake):
    db = lake.with_name("l.duckdb")
    with contextlib.closing(warehouse.open_write(db)) as con:
        n = con.execute("select count(*) from kernels").fetchall()[0][0]
        con.execute("insert into lake_own.kernels values ('f' , 'x', 'cuda', 1, 1)")
        pipeline.settle(con)
        assert con.execute("select count(*) from kernels").fetchall()[0][0] == n
        lake_views.collect_garbage(con, "true")
        assert con.execute("select count(*) from kernels").fetchall()[0][0] == 0
