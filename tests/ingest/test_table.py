"""Tables of results, by the built-in mapping and by a user's own."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from kbstats.ingest.errors import UsageError
from kbstats.ingest.formats import table
from kbstats.ingest.table_map import load_map


def test_the_built_in_mapping(wh, data):
    summary = wh.ingest(data / "tables/results.csv")
    assert summary.runs == 4
    r = wh.rows("select * from runs order by problem_id nulls last, sample_id")
    assert (r[0]["sweep"], r[0]["mode"], r[0]["speedup"], r[0]["wall_s"]) == ("demo_all", "all", 2.5, 300.5)
    assert (r[0]["correct"], r[0]["baseline"], r[0]["total_tokens"]) == (True, "eager", 1500)
    assert json.loads(r[0]["extra"])["first_correct_step"] == "2.0"
    assert (r[1]["mode"], r[1]["speedup"], r[1]["total_tokens"]) == ("single", None, None)


def test_sentinels_of_the_table(wh, data):
    wh.ingest(data / "tables/results.csv")
    found = dict(wh.con.execute("select name, value from metrics").fetchall())
    zeros = {"energy.per_run.zero": 1, "power.mean.zero": 1}
    assert found == {"dram.utilization": 12.5, "compute.utilization": 0.0, "occupancy": 140.0, **zeros}


def test_the_same_run_again_is_a_sample_the_same_row_is_not(wh, data):
    summary = wh.ingest(data / "tables/results.csv")
    assert wh.rows("select sample_id, correct from runs where problem_id = 2 order by 1") == [
        {"sample_id": 0, "correct": False},
        {"sample_id": 1, "correct": True},
    ]
    assert summary.issues["duplicate_row"] == 1
    assert summary.issues["repeated_run"] == 1


def test_cells_that_do_not_fit_are_named(wh, data):
    wh.ingest(data / "tables/results.csv")
    where = wh.column("select location from ingest_issues where code = 'type_dropped' order by 1")
    assert where == ["line 6, column correct", "line 6, column problem_id", "line 6, column wall_clock_s"]
    assert wh.one("select speedup from runs where model_raw = 'model, y'") is None


def test_a_last_row_cut_short(wh, data):
    summary = wh.ingest(data / "tables/cut.csv")
    assert (summary.runs, summary.partial) == (1, 1)


def test_a_users_own_mapping(wh, data):
    wh.ingest(data / "tables/own.csv", map_file=data / "tables/own.toml")
    r = wh.rows("select * from runs order by problem_name")
    assert [(x["suite"], x["level"], x["correct"], x["runtime_us"], x["speedup"]) for x in r] == [
        ("mine", 2, True, 500.0, 2.0),
        ("mine", 2, False, None, None),
    ]
    assert wh.column("select value from metrics") == [55.0]


def test_parquet_and_json_lines_read_the_same(wh, data, tmp_path):
    rows = [{"who": "m", "task": "t", "lvl": 1, "ok": True, "ms": 0.25, "ref_ms": 1.0, "occ": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({**r, "task": "u"}) + "\n" for r in rows))
    wh.ingest(tmp_path, map_file=data / "tables/own.toml")
    assert wh.column("select speedup from runs") == [4.0, 4.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense", "not TOML"),
        ("[columns]\nspeed = 'x'", "no column of runs"),
        ("[columns]\nruntime_us = {column = 'x', unit = 'furlong'}", "cannot be given"),
        ("[colums]\nlevel = 'x'", "unknown key"),
        ("", "no [columns]"),
    ],
)
def test_a_mapping_that_does_not_work_says_why(text, says):
    with pytest.raises(UsageError) as e:
        load_map(text, "my.toml")
    assert says in str(e.value)
    assert "my.toml" in str(e.value)


def test_built_in_mappings_load():
    assert [m.name for m in table.builtin_maps()] == ["popcornbench_results"]


def test_what_a_table_writes_for_unknown_and_cannot_mean_is_told_of(wh, tmp_path):
    """Power of 0 is no measurement and leaves its trace; a pass with a speedup of 0 or -1 contradicts itself."""
    head = "folder,mode,task,problem_id,level,model_raw,outcome,correct,speedup,total_turns,power_w,energy_mj\n"
    rows = ("1,1,m,correct,True,0,3,0.0,12.5", "2,1,m,correct,True,-1,3,300,0", "3,1,m,incorrect,False,-1.0,3,,", "4,1,m,correct,True,2,3,-1,0.0")
    path = tmp_path / "t.csv"
    path.write_text(head + "".join(f"f,all,{r[0]}_A.py,{r}\n" for r in rows))
    wh.ingest(path)
    assert wh.column("select speedup from runs order by problem_id") == [None, None, None, 2.0]
    assert wh.column("select baseline from runs order by problem_id") == [None, None, None, "eager"]
    found = wh.con.execute("select problem_id, name, value, m.unit from metrics as m join runs as r on m.run_id = r.run_id order by all").fetchall()
    assert found == [(1, "energy.per_run", 12.5, "mj"), (1, "power.mean.zero", 1, "count"), (2, "energy.per_run.zero", 1, "count"), (2, "power.mean", 300, "w"), (4, "energy.per_run.zero", 1, "count")]
    told = wh.con.execute("select problem_id, message from ingest_issues as i join runs as r on i.run_id = r.run_id where code = 'sentinel' order by all").fetchall()
    assert told == [(n, f"a speedup of {v} for a run that is called correct; read as unknown") for n, v in ((1, 0), (2, -1))]
