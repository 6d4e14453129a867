from __future__ import annotations


def test_a_table_that_survives_a_new_install(db):
    from kbstats.sql import catalog

    db.con.execute("insert into board_intervals values ('k', 1, 2, 3, 4)")
    (f,) = (f for f in catalog.models() if f.name == "board_intervals")
    db.con.execute(f.sql)
    assert db.rows("from board_intervals") == [("k", 1.0, 2.0, 3.0, 4.0)]
