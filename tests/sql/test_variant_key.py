"""The level itself has three names."""

from __future__ import annotations


def test_variant_key(db) -> None:
    assert db.rows("select variant_key(v) from (values (null), ('default'), ('original'), ('popcorn')) t(v)") == [
        ("original",), ("original",), ("original",), ("popcorn",)
    ]
