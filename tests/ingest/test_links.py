"""One run in two formats: what links them, which side ranks, and who wins where several would fit."""

from __future__ import annotations

import json

import pytest
from kbstats.ingest import changes, links

FOLDER = "20260102_030405_demo-claude_org_model-a_01_fp8_gemm"


class Runs:
    def __init__(self, wh) -> None:
        self.wh = wh
        self.con = wh.con

    def add(self, run_id, fmt, *, turns=0, **columns):
        row = {"run_id": run_id, "source_id": "s", "format": fmt, "suite": fmt, "model": "Model A", "level": 1, "problem_id": 3, "problem_name": "3_x", **columns}
        if isinstance(row.get("extra"), dict):
            row["extra"] = json.dumps(row["extra"])
        names = ", ".join(row)
        self.con.execute(f"insert into runs ({names}) values ({', '.join('?' * len(row))})", list(row.values()))
        for turn in range(turns):
            self.con.execute("insert into turns (run_id, turn) values (?, ?)", [run_id, turn])

    def linked(self):
        links.relink(self.con)
        return {(a, b): m for a, b, m in self.con.execute("from run_links").fetchall()}


@pytest.fixture
def runs(wh):
    return Runs(wh)


def test_a_transcript_and_the_result_in_its_folder(runs):
    runs.add("result", "kernelbench_com", source_outcome="correct", wall_s=900.0, n_turns=None, extra={"run_id": FOLDER})
    runs.add("talk", "claude_code", suite="transcripts", sweep=FOLDER, wall_s=880.0, turns=5, n_turns=5)
    assert runs.linked() == {("result", "talk"): "folder"}, "the one that says how it ended ranks"


@pytest.mark.parametrize(
    "columns",
    [
        {"sweep": FOLDER[:-1]},  # another folder
        {"sweep": "my notes"},  # no folder of one attempt
        {"sweep": FOLDER, "suite": "other"},  # no transcript
        {"sweep": FOLDER, "problem_id": 4},
        {"sweep": FOLDER, "model": "Model B"},
    ],
)
def test_a_transcript_of_something_else(runs, columns):
    runs.add("result", "kernelbench_com", source_outcome="correct", wall_s=900.0, extra={"run_id": FOLDER})
    runs.add("talk", "claude_code", wall_s=880.0, **{"suite": "transcripts", **columns})
    assert runs.linked() == {}


def test_two_attempts_in_one_folder_name_link_once_each(runs):
    """A resumed session leaves two transcripts: the first by its id is the linked one."""
    runs.add("result", "kernelbench_com", correct=True, extra={"run_id": FOLDER})
    for run_id in ("talk2", "talk1"):
        runs.add(run_id, "codex", suite="transcripts", sweep=FOLDER)
    runs.add("talk3", "gemini", suite="transcripts", sweep=FOLDER)
    found = runs.linked()
    assert {k: v for k, v in found.items() if k[0] == "result"} == {("result", "talk1"): "folder", ("result", "talk3"): "folder"}


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ({"wall_s": 100.0}, {"wall_s": 100.05}, "wall_s"),
        ({"wall_s": 100.0}, {"wall_s": 100.2}, None),
        ({"speedup": 2.0}, {"speedup": 2.005}, "speedup"),
        ({"speedup": 200.0}, {"speedup": 200.9}, "speedup"),  # half a percent
        ({"speedup": 2.0}, {"speedup": 2.1}, None),
        ({"speedup": 2.0, "wall_s": 9.0}, {"speedup": 2.0, "wall_s": 10.0}, None),  # another wall clock is another run
        ({"n_turns": 7, "sweep": "x_all"}, {"n_turns": 7, "sweep": "x_all_final_v2"}, "n_turns"),
        ({"n_turns": 7, "sweep": "x_all"}, {"n_turns": 7, "sweep": "y_all"}, None),
        ({"speedup": 2.0, "n_turns": 7}, {"speedup": 2.0, "n_turns": 8}, None),
        ({"speedup": 2.0, "model": "org/Model_A"}, {"speedup": 2.0, "model": "orgmodela"}, "speedup"),
        ({"speedup": 2.0, "problem_name": "3_X.py"}, {"speedup": 2.0}, "speedup"),
        ({"speedup": 2.0, "problem_name": None}, {"speedup": 2.0}, "speedup"),
        ({"speedup": 2.0, "problem_name": "3_y"}, {"speedup": 2.0}, None),
        ({"speedup": 2.0, "mode": "all"}, {"speedup": 2.0, "mode": "default"}, None),
        ({"speedup": 2.0, "mode": "all"}, {"speedup": 2.0}, "speedup"),
        ({"speedup": 2.0, "level": 2}, {"speedup": 2.0}, None),
        ({"speedup": 2.0, "hardware": "H100_Modal"}, {"speedup": 2.0, "hardware": "NVIDIA H100 80GB HBM3"}, "speedup"),
        ({"speedup": 2.0, "hardware": "NVIDIA H100"}, {"speedup": 2.0, "hardware": "NVIDIA H200"}, None),
        ({"speedup": 2.0, "hardware": "NVIDIA H100"}, {"speedup": 2.0, "hardware": "a GPU"}, "speedup"),
        ({"wall_s": 9.0, "precision": "fp32"}, {"wall_s": 9.0, "precision": "bf16"}, None),
        ({"wall_s": 9.0, "backend": "cuda"}, {"wall_s": 9.0, "backend": "Triton"}, None),
        # near 1.0x any two agree
        ({"speedup": 1.003}, {"speedup": 1.001}, None),
        ({"speedup": 1.003, "n_turns": 4}, {"speedup": 1.001, "n_turns": 4}, "speedup, n_turns"),
        ({"speedup": 1.003, "sweep": "s"}, {"speedup": 1.001, "sweep": "s_final"}, "speedup"),
        ({"speedup": 1.003, "sweep": "s"}, {"speedup": 1.001, "sweep": "t"}, None),
        ({}, {}, None),
    ],
)
def test_what_makes_two_one(runs, a, b, said):
    runs.add("a", "popcornbench", **a)
    runs.add("b", "table", **b)
    assert runs.linked() == ({} if said is None else {("a", "b"): said})


@pytest.mark.parametrize(
    ("table", "trace", "ranks"),
    [
        ({"correct": True}, {"turns": 3}, "table"),  # how it ended, before how it went
        ({}, {"turns": 3}, "trace"),
        ({"correct": True}, {"source_outcome": "correct", "turns": 3}, "trace"),
        ({"correct": True, "runtime_us": 5.0}, {"correct": True}, "table"),
        ({"correct": True, "runtime_us": 5.0}, {"correct": True, "turns": 1}, "trace"),
        ({}, {}, "trace"),  # as rich: the format that sorts first
    ],
)
def test_the_richer_side_ranks(runs, table, trace, ranks):
    runs.add("table", "table", speedup=2.0, **table)
    runs.add("trace", "popcornbench", speedup=2.0, **trace)
    assert [a for a, _ in runs.linked()] == [ranks]


def test_of_several_the_one_that_agrees_in_more(runs):
    runs.add("trace", "popcornbench", speedup=2.0, wall_s=50.0, n_turns=4, sweep="x_all", turns=4)
    runs.add("a_speedup", "table", speedup=2.0)
    runs.add("b_wall", "table", wall_s=50.0)
    runs.add("c_both", "table", speedup=2.0, wall_s=50.0, n_turns=4)
    assert runs.linked() == {("trace", "c_both"): "speedup, wall_s, n_turns"}


def test_a_wall_clock_says_more_than_a_speedup_and_a_sweep(runs):
    runs.add("trace", "popcornbench", speedup=2.0, wall_s=50.0, sweep="x", turns=4)
    runs.add("a_speedup", "table", speedup=2.0, sweep="x")
    runs.add("b_wall", "table", wall_s=50.0)
    assert runs.linked() == {("trace", "b_wall"): "wall_s"}


def test_on_a_tie_the_first_by_id_whatever_the_order_of_reading(runs):
    for run_id in ("t2", "t1"):
        runs.add(run_id, "popcornbench", speedup=2.0, turns=1)
    for run_id in ("r1", "r3", "r2"):
        runs.add(run_id, "table", speedup=2.0)
    assert runs.linked() == {("t1", "r1"): "speedup", ("t2", "r2"): "speedup"}, "one each; no run links to two of one format"


def test_samples_of_the_same_figures_link_by_their_number(runs):
    """Three samples of one turn each: all are linked, and none is counted twice, however their ids sort."""
    for sample, (trace, row) in enumerate((("t1", "r3"), ("t2", "r1"), ("t3", "r2"))):
        runs.add(trace, "popcornbench", n_turns=1, sweep="x", sample_id=sample, turns=1)
        runs.add(row, "table", n_turns=1, sweep="x_final", sample_id=sample)
    assert set(runs.linked()) == {("t1", "r3"), ("t2", "r1"), ("t3", "r2")}


def test_a_run_that_is_the_richer_of_one_and_the_poorer_of_another_has_one_partner(runs):
    runs.add("row1", "table", speedup=2.0, correct=True, runtime_us=1.0)
    runs.add("trace", "popcornbench", speedup=2.0, correct=True)
    runs.add("row2", "table", speedup=2.0)
    assert set(runs.linked()) == {("row1", "trace")}


def test_many_alike_take_no_more_than_a_few_rounds(runs):
    for i in range(60):
        runs.add(f"t{i:02}", "popcornbench", n_turns=1, sweep="x", turns=1)
        runs.add(f"r{i:02}", "table", n_turns=1, sweep="x")
    assert set(runs.linked()) == {(f"t{i:02}", f"r{i:02}") for i in range(60)}


def test_links_that_stay_as_they_were_are_no_change(runs):
    runs.add("trace", "popcornbench", speedup=2.0, turns=1)
    runs.add("row", "table", speedup=2.0)
    runs.linked()
    assert changes.take(runs.con).problems
    assert runs.linked()
    assert not changes.take(runs.con), "no list was begun"


def test_a_run_in_three_formats(runs):
    runs.add("trace", "popcornbench", speedup=2.0, turns=1)
    runs.add("row", "table", speedup=2.0)
    runs.add("summary", "popcornbench_summary", speedup=2.0, correct=True)
    found = runs.linked()
    assert set(found) == {("summary", "trace"), ("summary", "row"), ("trace", "row")}


def test_links_that_hold_no_more_go(runs):
    runs.add("trace", "popcornbench", speedup=2.0)
    runs.add("row", "table", speedup=2.0)
    assert runs.linked()
    runs.con.execute("update runs set speedup = 3.0 where run_id = 'row'")
    assert runs.linked() == {}
