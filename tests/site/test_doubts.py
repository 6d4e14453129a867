"""Which finding stands beside which number."""

from __future__ import annotations

import duckdb
from kbstats.site.doubts import Doubts


def test_a_finding_stands_beside_the_number_it_names_else_beside_its_audits() -> None:
    con = duckdb.connect()
    con.execute("create table metrics as from (values ('l2.hit_rate'), ('dram.utilization'), ('compute.utilization'), ('occupancy')) as t(name)")
    doubts = Doubts(con)
    rate = {"code": "hit_rate_over_100", "message": "l2.hit_rate of 237.5 %: hits cannot outnumber accesses"}
    assert [n for n in ("l2.hit_rate", "occupancy") if doubts(rate, n)] == ["l2.hit_rate"]
    named = {"code": "utilization_over_100", "message": "dram.utilization of 140.0 %: more than the GPU has"}
    assert [n for n in ("dram.utilization", "compute.utilization") if doubts(named, n)] == ["dram.utilization"]
    assert doubts({"code": "refuted_speed", "message": "NO_SPEEDUP: measured 1.00x"}, "speedup")
    assert not doubts({"code": "truncated_log", "message": "the log was cut"}, "occupancy")
    assert not doubts({"code": "a_plug_in", "message": None}, "occupancy")
