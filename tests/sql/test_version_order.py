from __future__ import annotations


def test_numbers_not_letters_decide(db):
    names = ["kbv-10", "1.9", "kbv-9", None, "1.10", "draft", "2", "kbv-9.1", "9" * 60]
    ordered = db.rows("select v from unnest(?::varchar[]) as t(v) order by version_order(v), v nulls first", [names])
    # A number beyond any version counts as none.
    assert [v for (v,) in ordered] == [None, "draft", "9" * 60, "1.9", "1.10", "2", "kbv-9", "kbv-9.1", "kbv-10"]
