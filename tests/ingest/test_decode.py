"""The slow path: what other decoders refuse is read, and where a file was cut is told from what is wrong."""

from __future__ import annotations

import json

import pytest
from kbstats.ingest import decode
from kbstats.ingest.batch import Batch

WHOLE = json.dumps({"a": [1.5, -2e-7, True, None, "x\u00e9\n"], "b": {"c": "d", "e": 10}}, ensure_ascii=False, indent=1)


def read(data):
    batch = Batch("s", "/x")
    value = decode.untyped(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"), batch)
    return value, [i.code for i in batch.rows.get("ingest_issues", [])]


def code_of(data):
    with pytest.raises(decode.UnreadableError) as e:
        read(data)
    return e.value.code


def test_every_beginning_of_a_document_is_a_cut_document():
    data = WHOLE.encode()
    for n in range(1, len(data)):
        assert code_of(data[:n]) == "truncated", data[:n]
        assert code_of(data[:n] + b"\x00" * 50) == "truncated", "a crash leaves zero bytes"


@pytest.mark.parametrize(
    "text", ["hello", "{a: 1}", '{"a": 1,, "b": 2}', "<html></html>", '{"a" 1}', "nul", '{"a": tru, "b": 1}']
)
def test_what_is_no_json(text):
    assert code_of(text) == "not_json"


@pytest.mark.parametrize("data", [b"", b" \n", b"\x00" * 10])
def test_empty(data):
    assert code_of(data) == "empty_file"


@pytest.mark.parametrize(
    ("text", "value", "code"),
    [
        ("[NaN, Infinity, -Infinity, 1e999]", [None] * 4, "non_finite"),
        ('["\\ud83d x"]', ["\ufffd\ufffd\ufffd x"], "surrogate"),
        ('["a\x01b\tc"]', ["a\x01b\tc"], None),
        ('[1] {"x": 2}', [1], "trailing_data"),
        ("\ufeff[1]", [1], "byte_order_mark"),
    ],
)
def test_repairs(text, value, code):
    got, codes = read(text)
    assert len(got) == len(value)
    assert code == "surrogate" or got == value
    assert (code is None and not codes) or codes == [code]


def test_utf16_with_its_mark():
    assert read("[1]".encode("utf-16"))[0] == [1]


@pytest.mark.parametrize("n", [300, 5000, 200_000])
def test_deep_nesting_costs_what_is_deep_and_no_more(n):
    value, codes = read('{"keep": 1, "deep": ' + "[" * n + "]" * n + ', "also": "\\ud800"}')
    assert value["keep"] == 1
    assert "also" in value
    assert "too_deep" in codes


def test_whole_entries_of_a_cut_object():
    text = '{"1": {"a": [1, 2]}, "2": "x", "3": 12'
    assert decode.whole_entries(text) == {"1": {"a": [1, 2]}, "2": "x"}
    assert decode.whole_entries("") == {}
    assert decode.whole_entries("[1, 2") == {}


@pytest.mark.parametrize("value", [10**400, -(10**400), float("inf"), float("nan"), 2**63, "1e400", True])
def test_numbers_that_no_column_holds(value):
    from kbstats.ingest import lenient

    told = []
    assert lenient.to_int(value, lambda *a: told.append(a), "/n") is None
    assert [t[0] for t in told] == ["type_dropped"]
