from __future__ import annotations


def test_decimals_and_numbers_beyond_all_runs(db) -> None:
    got = db.rows("select number_text(x, 1) from (values (2.345), (-0.04), (973614.2), (1e308), ('-inf'::double), (null)) as t(x)")
    assert [t for (t,) in got] == ["2.3", "-0.0", "973614.2", "1e+308", "-inf", None]
