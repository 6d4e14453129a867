"""Every SQL file has its header, and its declared inputs are those that it reads."""

from __future__ import annotations

import re

import pytest
from kbstats.sql import catalog, refresh

TABLES = {f.name for f in catalog.sql_files("schema")}
MODELS = {f.name for f in catalog.sql_files("models")}
AUDITS = catalog.sql_files("audits")


@pytest.mark.parametrize("f", catalog.sql_files("models"), ids=lambda f: f.name)
def test_model_header_and_inputs(f):
    assert f.header["purpose"]
    assert f.header["grain"]
    declared = {n.strip() for n in f.header["inputs"].split(",") if n.strip()}
    assert declared <= TABLES | MODELS | {"audit_findings"}
    names = TABLES | MODELS | {"audit_findings"}
    assert catalog._known(f.sql, names) & catalog_reads(f.sql, names) == declared


def catalog_reads(sql, names):
    """Tables by the parser; scalar macros are functions, which it does not list."""
    bare = re.sub(r"--[^\n]*|'(?:[^']|'')*'", " ", sql)
    # The parser does not know a macro's head with default values.
    sql = re.sub(r"create or replace macro \w+\(.*?\) as table", "", sql, flags=re.DOTALL)
    calls = {n for n in names if re.search(rf"(?<![\w.])(?<!macro ){n}\(", bare)}
    return (catalog.references(sql) & names) | calls


def test_the_reference_says_what_a_model_is(db):
    """What docs/tables.md calls each model, and what the database has."""
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "tables.md").read_text(encoding="utf-8").partition("# Models")[2]
    said = dict(re.findall(r"## (\w+)\n\n(Stored|Table macro|Table|View|Macro): ", text))
    there = {name: {"Stored", "Table"} for (name,) in db.con.execute("select table_name from duckdb_tables()").fetchall()}
    there |= {name: {"View"} for (name,) in db.con.execute("select view_name from duckdb_views()").fetchall()}
    kinds = {"macro": {"Macro"}, "table_macro": {"Table macro"}}
    asked = "select function_name, function_type from duckdb_functions() where not internal"
    there |= {name: kinds[kind] for name, kind in db.con.execute(asked).fetchall()}
    assert said.keys() == {f.name for f in catalog.models()}
    assert {name: word for name, word in said.items() if word not in there[name]} == {}
    assert said["audit_findings"] == "Stored"


@pytest.mark.parametrize("f", AUDITS, ids=lambda f: f.name)
def test_audit_header(f):
    assert f.header["purpose"]
    assert f.header["severity"] in {"error", "warning", "info"}
    assert f.header["blocks"] in {"speed", "correctness", "identity", "nothing"}
    assert f.header["threshold"]
    assert catalog.references(catalog.select_of(f)) <= TABLES | MODELS


@pytest.mark.parametrize("f", AUDITS, ids=lambda f: f.name)
def test_audit_selects_the_contract(f, db):
    got = [d[0] for d in db.con.execute(f"select * from ({catalog.select_of(f)})").description]
    assert got == ["run_id", "message", "value", "threshold"]


def test_harness_counters_never_block():
    doubts = {"occupancy_over_100", "utilization_over_100", "hit_rate_over_100", "power_over_board", "bandwidth_over_peak", "warp_stall_over_100"}
    assert {a.header["blocks"] for a in AUDITS if a.name in doubts} == {"nothing"}


@pytest.mark.parametrize("f", [a for a in AUDITS if a.doubts], ids=lambda f: f.name)
def test_what_an_audit_doubts_it_reads(f):
    statement = catalog.select_of(f)
    for name in f.doubts:
        part = {"runtime": "runtime_us"}.get(name, name.strip("*"))
        assert part in statement, name


NEEDS = [f for f in (*AUDITS, *catalog.sql_files("models")) if f.needs]


@pytest.mark.parametrize("f", NEEDS, ids=lambda f: f.name)
def test_what_a_file_needs_it_asks_for(f):
    """Each name of a `needs` stands in the statement; that it hides no finding `Inline.findings` checks."""
    bare = re.sub(r"--[^\n]*", " ", f.sql)
    for table, words in f.needs:
        assert {table, {"kernel_marks": "suspect_runs", "verifications": "deciding_verifications"}.get(table)} & set(re.findall(r"\w+", bare))
        assert table in refresh.WORDS or not words
        for word in words:
            assert word.replace("?", "_").strip("*") in bare, word


def test_every_audit_of_a_metric_says_what_it_doubts():
    """The site sets a mark beside such a number; the names in the statement are its values of `name`."""
    reads = {a.name for a in AUDITS if "metrics" in catalog.references(catalog.select_of(a))}
    assert reads - {a.name for a in AUDITS if a.doubts} == set()


def test_every_audit_has_a_test_of_its_own():
    from pathlib import Path

    text = "".join(p.read_text() for p in Path(__file__).parent.glob("test_*audit*.py"))
    assert {a.name for a in AUDITS if f'"{a.name}"' not in text} == set()


def test_every_model_has_a_test_file():
    from pathlib import Path

    there = {p.stem.removeprefix("test_") for p in Path(__file__).parent.glob("test_*.py")}
    # verify_candidates belongs to verification and is tested there
    assert MODELS - there - {"verify_candidates"} == set()


def test_audit_findings_is_empty_without_rows(db):
    assert db.rows("from audit_findings") == []
