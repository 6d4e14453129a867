"""Printing: nothing is lost or invented between a record and what a person or a program reads."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

from kbstats.analytics.output import (
    Column,
    Format,
    emit,
    folded,
    note,
    number,
    place,
    plain,
    plain_line,
    rows_of,
    to_json,
)

HARD = [
    {
        "name": 'ünï"code, x',
        "n": 3,
        "x": 1.5,
        "when": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        "many": [1, None],
        "nothing": None,
    },
    {"name": "a\nb", "n": None, "x": float("inf"), "when": None, "many": {"k": float("nan")}, "nothing": None},
]


def test_json_round_trips_and_knows_no_nan() -> None:
    back = json.loads(to_json(HARD))
    assert back[0] == HARD[0] | {"when": "2026-01-02T03:04:05+00:00"}
    assert back[1]["x"] is None
    assert back[1]["many"] == {"k": None}


def test_csv_is_one_record_a_row(capsys) -> None:
    emit(HARD, Format.csv)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [r["name"] for r in rows] == ['ünï"code, x', "a\nb"]
    assert rows[0]["many"] == "[1, null]"
    assert rows[1]["n"] == ""


def test_markdown_keeps_its_columns(capsys) -> None:
    emit([{"a": "x|y\nz"}], Format.md)
    assert capsys.readouterr().out.splitlines()[-1] == "| x\\|y z |"


def test_a_table_fits_and_cuts_nothing(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    emit([{"a": "long " * 30, "b": 1}], Format.table, [Column("a", "a"), Column("b", "b", right=True)])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 40
    assert out.count("long") == 30
    assert "…" not in out


def test_a_name_breaks_after_a_mark() -> None:
    assert folded("provider/some_long-model.name", 16) == ["provider/some_", "long-model.name"]
    # never where that would leave most of the line empty
    assert folded("a_" + "b" * 20, 12) == ["a_" + "b" * 10, "b" * 10]


def test_a_problem_in_a_few_characters() -> None:
    assert place({"level": 3, "problem_id": 11, "problem_name": "11_A.py"}) == "L3 P11"
    assert place({"level": None, "problem_id": 0, "problem_name": "A"}) == "P0"
    assert place({"level": 3, "problem_id": None, "problem_name": "A"}) == "A"
    assert place({"level": 3, "problem_id": None, "problem_name": None}) == "L3"
    assert place({}) == ""


def test_controls_are_shown_not_obeyed() -> None:
    assert plain("a\x1b[0m\u202eb\ttab\nline") == "a\\x1b[0m\\u202eb\ttab\nline"


def test_numbers() -> None:
    assert number(2)(1234.567) == "1,234.57"
    assert number(1, suffix=" %", scale=100)(0.123) == "12.3 %"
    assert number()(None) == "–"


def test_a_crowded_table_is_one_field_a_line(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    emit([{f"column_{i}": "a value of words" for i in range(20)}] * 2, Format.table)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 41
    assert lines[0] == "column_0   a value of words"


def test_notes_are_plain_and_wrapped(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    note("note: pools \x1b[31mred " + "word " * 20)
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert max(map(len, err.splitlines())) <= 40


def test_a_name_begins_no_line_of_its_own() -> None:
    assert plain_line("x\nturn  9\t\u2028\u200b") == "x\\x0aturn  9\\x09\\u2028\\u200b"
    assert plain("a\tb\nc\u2029") == "a\tb\nc\\u2029"


def test_a_table_holds_a_name_on_one_line_and_bounds_it(capsys) -> None:
    emit([{"name": "a\n2  forged\trow"}, {"name": "n" * 10_000}], Format.table, [Column("name", "name")])
    out = capsys.readouterr().out
    assert "a 2  forged row" in out.splitlines()
    assert len(out) < 1000
    assert "…" in out


def test_columns_of_one_name_are_both_told_and_decimals_are_numbers() -> None:
    import duckdb

    rows = rows_of(duckdb.connect().execute("select 1 as x, 2 as x, 1.10::decimal(4,2) as d, 3::decimal(4,0) as e, 'ab'::blob as b"))
    assert json.loads(to_json(rows)) == [{"x": 1, "x_2": 2, "d": 1.1, "e": 3, "b": "6162"}]
