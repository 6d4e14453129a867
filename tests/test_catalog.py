"""The catalogue of SQL files: headers, order, stored models, the view over the audits."""

from __future__ import annotations

import duckdb
import pytest
from kbstats.ingest.errors import KbstatsError
from kbstats.sql import catalog
from kbstats.sql.catalog import SqlFile
from kbstats.sql.refresh import refresh_stored

SEVERITIES = {"error", "warning", "info"}
BLOCKS = {"speed", "correctness", "identity", "nothing"}


def model(name: str, sql: str, **header: str) -> SqlFile:
    return SqlFile("models", name, sql, header)


@pytest.fixture
def catalogue(monkeypatch):
    """A catalogue of made-up files."""

    def use(models: list[SqlFile], audits: list[SqlFile] = ()) -> None:
        kinds = {"models": tuple(models), "audits": tuple(audits), "schema": ()}
        monkeypatch.setattr(catalog, "sql_files", lambda kind: kinds[kind])
        catalog.models.cache_clear()

    yield use
    catalog.models.cache_clear()


def test_header_lines_go_on() -> None:
    f = catalog._parse(
        "models", "m", "-- purpose: one\n--   two\n-- grain: run_id\ncreate view m as select 1;\n-- inputs: no\n"
    )
    assert f.header == {"purpose": "one two", "grain": "run_id"}


def test_order_follows_the_references(catalogue) -> None:
    catalogue(
        [
            model("a", "create or replace view a as select * from c"),
            model("b", "create or replace view b as select 'a' as a_word, x from a -- and c"),
            model("c", "create or replace view c as select 1 as x"),
        ]
    )
    assert [m.name for m in catalog.models() if m.name != "audit_findings"] == ["c", "a", "b"]


def test_a_circle_is_named(catalogue) -> None:
    catalogue([model("a", "create view a as from b"), model("b", "create view b as from a")])
    with pytest.raises(KbstatsError, match="circle: a, b"):
        catalog.models()


def test_a_stored_model_is_a_table_that_is_filled_anew(catalogue) -> None:
    catalogue(
        [
            model("doubled", "create or replace view doubled as select 2 * x as y from t", stored="yes"),
            model("total", "create or replace view total as select sum(y) as s from doubled"),
        ]
    )
    con = duckdb.connect()
    con.execute("create table t as select 21 as x")
    catalog.install_models(con)
    con.execute("insert into t values (1)")
    assert con.execute("from total").fetchall() == [(42,)]
    refresh_stored(con)
    assert con.execute("from total").fetchall() == [(44,)]
    catalog.install_models(con)  # again, over what is there
    assert con.execute("from total").fetchall() == [(44,)]


def test_audits_unite(catalogue) -> None:
    catalogue(
        [model("m", "create or replace view m as select 'r1' as run_id, 120.0 as v")],
        [
            SqlFile(
                "audits",
                "too_high",
                "-- purpose: x\nselect run_id, 'high' as message, v as value, 100 as threshold from m where v > 100;",
                {"purpose": "x", "severity": "warning", "blocks": "nothing", "threshold": "100"},
            )
        ],
    )
    con = duckdb.connect()
    catalog.install_models(con)
    assert con.execute("from audit_findings").fetchall() == [
        ("too_high", "warning", "nothing", "r1", "high", 120.0, 100.0)
    ]


def test_references_sees_tables_views_and_macros_but_not_ctes() -> None:
    sql = "create or replace view v as with c as (select * from runs) select * from c join turns using (run_id), board(levels := [1])"
    assert catalog.references(sql) == {"runs", "turns", "board"}


def test_every_file_has_its_header() -> None:
    for f in catalog.sql_files("schema"):
        assert {"purpose", "grain"} <= set(f.header), f.name
    for f in catalog.sql_files("models"):
        assert {"purpose", "grain", "inputs"} <= set(f.header), f.name
    for f in catalog.sql_files("audits"):
        assert {"purpose", "severity", "blocks", "threshold"} <= set(f.header), f.name
        assert f.header["severity"] in SEVERITIES, f.name
        assert f.header["blocks"] in BLOCKS, f.name


def test_everything_installs_in_an_empty_database(tmp_path) -> None:
    from kbstats.analytics import warehouse

    con = warehouse.open_write(tmp_path / "x.duckdb")
    for m in catalog.models():
        if "create or replace macro" not in m.sql:
            assert con.execute(f"from {m.name}").fetchall() is not None
    con.close()
