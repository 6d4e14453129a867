"""Order, ranks, intervals and notes of the boards."""

from __future__ import annotations

import math
import random

import pytest
from kbstats.analytics import leaderboards as lb
from kbstats.analytics import stats


def fill(db, model, speedups, wrong=0, **more):
    for i, s in enumerate(speedups):
        db.add("runs", run_id=f"{model}{i:03}", model=model, problem_id=i, problem_name=f"{i}.py", source_outcome="correct", correct=True, speedup=s, **more)
    for i in range(len(speedups), len(speedups) + wrong):
        db.add("runs", run_id=f"{model}{i:03}", model=model, problem_id=i, problem_name=f"{i}.py", source_outcome="incorrect", correct=False, **more)


FIELDS = ["rank", "model", "n", "correct", "correct_rate", "correct_lo", "correct_hi", "n_speedup", "median_speedup", "geomean_speedup", "geomean_lo", "geomean_hi", "fast_0", "fast_1", "fast_2", "excluded_infra", "withdrawn", "flagged", "verified", "refuted", "total_tokens", "cost_usd"]


def test_fields_and_values_of_a_row(db):
    fill(db, "A", [4.0, 1.0, 0.5, None], wrong=1)
    (row,) = lb.board(db.fresh(), lb.Filters()).rows
    assert set(FIELDS) <= set(row)
    assert (row["n"], row["correct"], row["n_speedup"]) == (5, 4, 3)
    assert (row["fast_0"], row["fast_1"], row["fast_2"]) == (0.8, 0.2, 0.2)
    assert (row["correct_lo"], row["correct_hi"]) == stats.wilson(4, 5)
    assert row["geomean_speedup"] == pytest.approx(2 ** (1 / 3))
    assert row["median_speedup"] == 1.0
    assert row["geomean_lo"] < row["geomean_speedup"] < row["geomean_hi"]
    assert row["cost_usd"] is None


def test_any_p_is_strict(db):
    fill(db, "A", [1.5, 1.6, 3.0])
    (row,) = lb.board(db.fresh(), lb.Filters(), ps=[0, 1.5, 3]).rows
    assert row["fast_1.5"] == pytest.approx(2 / 3)
    assert row["fast_3"] == 0.0


def test_no_p_takes_the_place_of_another(db):
    fill(db, "A", [1.0 + 1e-9, 3.0])
    (row,) = lb.board(db.fresh(), lb.Filters(), ps=[1.00000001]).rows
    assert (row["fast_1"], row["fast_1.00000001"]) == (1.0, 0.5)


def test_rank_counts_only_intervals_wholly_above(db):
    fill(db, "best", [3.0] * 50)
    fill(db, "near", [3.0] * 48, wrong=2)
    fill(db, "last", [3.0] * 10, wrong=40)
    rows = lb.board(db.fresh(), lb.Filters()).rows
    assert [(r["model"], r["rank"]) for r in rows] == [("best", 1), ("near", 1), ("last", 3)]


def test_order_by_fast_1_then_correct_then_geomean_then_name(db):
    fill(db, "d", [2.0, 0.5], wrong=1)
    fill(db, "c", [2.0, 0.9], wrong=1)
    fill(db, "b", [2.0], wrong=2)
    fill(db, "a", [2.0], wrong=2)
    assert [r["model"] for r in lb.board(db.fresh(), lb.Filters()).rows] == ["c", "d", "a", "b"]


@pytest.mark.parametrize("sort", lb.sort_keys())
def test_every_sort_key_sorts(db, sort):
    fill(db, "A", [2.0, 3.0, 4.0], total_tokens=5, cost_usd=1.0, wall_s=2.0, n_turns=3)
    fill(db, "B", [0.5], wrong=3, total_tokens=50, cost_usd=9.0, wall_s=20.0, n_turns=9)
    fill(db, "C", [], wrong=2)
    rows = lb.board(db.fresh(), lb.Filters(), sort=sort).rows
    assert len(rows) == 3
    assert rows[0]["rank"] == 1
    values = [r[sort] for r in rows if r[sort] is not None]
    assert values == sorted(values, reverse=sort not in lb._ASCENDING)


def test_a_speedup_without_interval_is_above_nobody(db):
    fill(db, "lucky", [900.0])
    fill(db, "steady", [5.0, 5.1, 5.2, 5.3])
    rows = {r["model"]: r for r in lb.board(db.fresh(), lb.Filters(), sort="geomean_speedup").rows}
    assert rows["lucky"]["geomean_lo"] is None
    assert (rows["lucky"]["rank"], rows["steady"]["rank"]) == (1, 1)


def test_empty_database_and_empty_filters(db):
    for by in lb.GROUPINGS:
        assert lb.board(db.fresh(), lb.Filters(), by=by).rows == []
    fill(db, "A", [2.0])
    assert lb.board(db.fresh(), lb.Filters(levels=[99])).rows == []


def test_hostile_names_are_bound(db):
    name = "x'; drop table runs; --"
    fill(db, name, [2.0])
    assert [r["model"] for r in lb.board(db.fresh(), lb.Filters(models=[name])).rows] == [name]
    assert lb.board(db.fresh(), lb.Filters(sweeps=[name])).rows == []


def test_notes_say_what_is_pooled(db):
    fill(db, "A", [2.0], mode="all", sweep="s1", variant="popcorn", hardware="H100")
    fill(db, "B", [2.0, 3.0], mode="single", sweep="s2", hardware="NVIDIA H200")
    notes = "\n".join(lb.board(db.fresh(), lb.Filters()).notes)
    for words in ("2 modes (all, single)", "2 sweeps (s1, s2)", "2 variants (original, popcorn)", "2 GPU models (H100, H200)", "share 0"):
        assert words in notes
    assert "modes" not in "\n".join(lb.board(db.fresh(), lb.Filters(), by="mode").notes)
    assert lb.board(db.fresh(), lb.Filters(models=["A"])).notes == []


def test_models_that_ran_different_problems(db):
    fill(db, "A", [2.0, 2.0])
    fill(db, "B", [2.0, 2.0, 2.0])
    found = lb.board(db.fresh(), lb.Filters())
    assert "share 2 (A 2, B 3)" in found.notes[0]
    assert {r["n_shared"] for r in found.rows} == {2}
    few = lb.board(db.fresh(), lb.Filters(), min_coverage=0.9)
    assert [r["model"] for r in few.rows] == ["B"]
    assert "A" in few.notes[-1]


def test_run_board(db):
    fill(db, "A", [2.0, 500.0, None], wrong=1)
    rows = lb.board(db.fresh(), lb.Filters(trust="audited"), by="run").rows
    assert [(r["rank"], r["speedup"], r["reason"]) for r in rows] == [
        (1, 2.0, None), (None, None, "speedup_extraordinary"), (None, None, "correct_without_timing"),
        (None, None, "incorrect.no_text"),
    ]  # fmt: skip


@pytest.mark.parametrize("sort", lb.RUN_KEYS)
def test_every_key_of_a_run_board_sorts(db, sort):
    fill(db, "A", [2.0, 4.0, 4.0], total_tokens=5, cost_usd=1.0, wall_s=2.0, n_turns=3)
    fill(db, "B", [3.0, None], total_tokens=4, cost_usd=0.5, wall_s=1.0, n_turns=1)
    fill(db, "C", [9.0], wrong=1)
    rows = lb.board(db.fresh(), lb.Filters(), by="run", sort=sort).rows
    values = [r[sort] for r in rows if r["counts_correct"] and r[sort] is not None]
    assert values == sorted(values, reverse=sort == "speedup")
    ranks = [r["rank"] for r in rows]
    assert ranks == ([1, 2, 2, 4, 5, None, None] if sort == "speedup" else [1, 1, 3, 3, 3, None, None])


def test_problem_board_has_the_best_run(db):
    fill(db, "A", [2.0])
    fill(db, "B", [3.0])
    (row,) = lb.board(db.fresh(), lb.Filters(), by="problem").rows
    assert (row["problem"], row["n"], row["best_model"], row["best_run_id"]) == ("0.py", 2, "B", "B000")


def test_against_plain_python_on_random_runs(db):
    rng = random.Random(5)
    runs = []
    for i in range(300):
        label = rng.choice(["correct", "correct", "incorrect", "compile_fail", "error", "in_progress"])
        speedup = round(math.exp(rng.gauss(0, 1.5)), 3) if label == "correct" and rng.random() < 0.9 else None
        run = {"model": rng.choice("ABC"), "level": rng.randint(1, 3), "mode": rng.choice(["all", "single"]), "problem_id": i, "problem_name": f"{i}.py"}
        runs.append(run | {"run_id": f"r{i:03}", "source_outcome": label, "correct": label == "correct", "speedup": speedup})
        db.add("runs", **runs[-1])
    for levels in ([], [1], [2, 3]):
        for modes in ([], ["all"]):
            rows = lb.board(db.fresh(), lb.Filters(levels=levels, modes=modes)).rows
            for row in rows:
                mine = [r for r in runs if r["model"] == row["model"] and (not levels or r["level"] in levels) and (not modes or r["mode"] in modes)]
                speeds = [r["speedup"] for r in mine if r["speedup"]]
                assert row["n"] == len(mine)
                assert row["correct"] == sum(r["correct"] for r in mine)
                assert row["fast_1"] == pytest.approx(sum(s > 1 for s in speeds) / len(mine))
                assert row["geomean_speedup"] == pytest.approx(stats.geomean(speeds))
                assert row["excluded_infra"] == sum(r["source_outcome"] == "in_progress" for r in mine)


def test_the_boards_select_is_the_macros(db):
    """Over runs found once the numbers are those of `from board()`."""
    fill(db, "A", [4.0, 1.0, 0.5, None], wrong=2, hardware="H100", total_tokens=5)
    fill(db, "B", [2.0, 1.01], wrong=1)
    db.add("runs", run_id="B9", model="B", source_outcome="in_progress", problem_id=9)
    for exclude in (False, True):
        con = db.fresh()
        lb.select_runs(con, lb.Filters(exclude_infra=exclude))
        mine = con.execute(lb.board_sql()).fetchall()
        macro = con.execute("from board(exclude_infra := $e)", {"e": exclude}).fetchall()
        assert sorted(map(str, mine)) == sorted(map(str, macro))


def test_near_ties_are_counted_and_still_fast(db):
    fill(db, "A", [1.01, 0.99, 1.5])
    (row,) = lb.board(db.fresh(), lb.Filters()).rows
    assert (row["near_tie"], row["fast_1"]) == (2, pytest.approx(2 / 3))


def test_cost_of_a_solved_problem(db):
    fill(db, "A", [2.0, 3.0], wrong=2, cost_usd=1.5, total_tokens=100)
    (row,) = lb.board(db.fresh(), lb.Filters()).rows
    assert (row["cost_per_solved"], row["tokens_per_solved"]) == (3.0, 200.0)


@pytest.mark.parametrize(("cost", "want"), [(3.0, 4.5), (None, None)])
def test_samples_solve_a_problem_once_and_a_missing_cost_leaves_nothing_to_divide(db, cost, want):
    common = {"model": "A", "problem_name": "1_A.py", "problem_id": 1, "total_tokens": 100}
    for i in (1, 2):
        db.add("runs", run_id=f"r{i}", sample_id=i, source_outcome="correct", correct=True, speedup=2.0, cost_usd=0.75, **common)
    db.add("runs", run_id="r3", sample_id=3, source_outcome="incorrect", correct=False, cost_usd=cost, **common)
    (row,) = lb.board(db.fresh(), lb.Filters()).rows
    assert (row["correct"], row["cost_per_solved"], row["tokens_per_solved"]) == (2, want, 300.0)



def test_coverage_is_of_what_the_suite_offers(db):
    fill(db, "A", [2.0, 3.0])
    for name in ("0.py", "7.py", "8.py"):
        db.add("problems", source_id="p", suite="kb", level=1, problem_name=name)
    db.add("problems", source_id="p", suite="kb", level=2, problem_name="other_level.py")
    (row,) = lb.board(db.fresh(), lb.Filters()).rows
    assert (row["n_problems"], row["n_offered"], row["coverage"]) == (2, 4, 0.5)


def test_shared_problems_only(db):
    fill(db, "A", [2.0, 2.0, 0.5])
    fill(db, "B", [3.0, 0.5])
    found = lb.board(db.fresh(), lb.Filters(), shared=True)
    assert {r["model"]: (r["n"], r["fast_1"]) for r in found.rows} == {"A": (2, 1.0), "B": (2, 0.5)}
    assert found.notes == []


def test_what_is_left_out_is_said(db):
    fill(db, "A", [2.0])
    db.add("runs", run_id="s", model="A", source_outcome="skipped")
    db.add("runs", run_id="t", model="A", format="codex")
    db.add("runs", run_id="i", model="A", source_outcome="in_progress")
    notes = "\n".join(lb.board(db.fresh(), lb.Filters(exclude_infra=True)).notes)
    for words in ("1 were skipped", "1 were judged by nobody", "1 failed by harness"):
        assert words in notes


def simpson(db, reverse):
    """A 9 of 10 and 1 of 2; B 1 of 1 and 6 of 10: B leads at both levels, A over both."""
    counts = {"A": {1: (9, 10), 2: (1, 2)}, "B": {1: (1, 1), 2: (6, 10) if reverse else (4, 10)}}
    for model, levels in counts.items():
        for level, (right, n) in levels.items():
            for i in range(n):
                db.add("runs", run_id=f"{model}{level}{i:02}", model=model, level=level, problem_id=i, problem_name=f"{i}.py",
                       source_outcome="correct" if i < right else "incorrect", correct=i < right, speedup=2.0 if i < right else None)  # fmt: skip


@pytest.mark.parametrize("reverse", [True, False])
def test_simpsons_paradox_is_named(db, reverse):
    simpson(db, reverse)
    notes = [n for n in lb.board(db.fresh(), lb.Filters()).notes if "mix of levels" in n]
    assert bool(notes) is reverse
    assert all(n.startswith("A is above B over all levels") for n in notes)
    assert all("at any level that both ran (1, 2)" in n for n in notes)
    assert not [n for n in lb.board(db.fresh(), lb.Filters(levels=[1])).notes if "mix" in n]


def test_the_best_kernel_is_the_best_runs(db):
    """Of two as fast the first by its id; a run that kept no kernel lends itself no slower one's."""
    from kbstats.analytics import matrix

    for run_id, model, speedup, sha in (("a", "A", 2.0, "slow"), ("c", "C", 3.0, "c"), ("b", "B", 3.0, "b")):
        db.add("runs", run_id=run_id, model=model, source_outcome="correct", correct=True, speedup=speedup, submitted_kernel_sha256=sha)
    (row,) = lb.board(db.fresh(), lb.Filters(), by="problem").rows
    assert (row["best_run_id"], row["best_model"], row["best_kernel_sha256"]) == ("b", "B", "b")
    db.add("runs", run_id="d", model="A", sample_id=1, source_outcome="correct", correct=True, speedup=9.0)
    (row,) = lb.board(db.fresh(), lb.Filters(), by="problem").rows
    assert (row["best_run_id"], row["best_kernel_sha256"]) == ("d", None)
    cells = {r["model"]: (r["best_run_id"], r["best_kernel_sha256"]) for r in matrix.matrix(db.fresh(), lb.Filters()).rows}
    assert cells == {"A": ("d", None), "B": ("b", "b"), "C": ("c", "c")}


def test_simpsons_paradox_counts_runs_of_no_level(db):
    """The suite has no level 2: its runs have none. What is pooled is what the board shows."""
    simpson(db, reverse=True)
    db.con.execute("update runs set level = null where level = 2")
    (note,) = [n for n in lb.board(db.fresh(), lb.Filters()).notes if "mix of levels" in n]
    assert note.startswith("A is above B over all levels, yet not above it at any level that both ran (1, none)")
    # Twenty failures of no level turn the board's order, and there is nothing to warn of.
    for i in range(20):
        db.add("runs", run_id=f"z{i:02}", model="A", level=None, problem_id=i + 50, source_outcome="incorrect", correct=False)
    board = lb.board(db.fresh(), lb.Filters())
    assert [r["model"] for r in board.rows] == ["B", "A"]
    assert not [n for n in board.notes if "A is above B" in n]


def test_matrix_and_best_kernel(db):
    from kbstats.analytics import matrix

    fill(db, "A", [2.0, None], wrong=1)
    fill(db, "B", [3.0])
    db.add("runs", run_id="A000b", model="A", problem_id=0, problem_name="0.py", sample_id=1, source_outcome="correct", correct=True, speedup=5.0, submitted_kernel_sha256="k")
    rows = matrix.matrix(db.fresh(), lb.Filters()).rows
    cell = {(r["model"], r["problem"]): r for r in rows}
    assert (cell["A", "0.py"]["best_speedup"], cell["A", "0.py"]["best_run_id"], cell["A", "0.py"]["best_kernel_sha256"]) == (5.0, "A000b", "k")
    assert (cell["A", "1.py"]["outcome"], cell["A", "1.py"]["best_speedup"]) == ("correct", None)
    assert cell["A", "2.py"]["outcome"] == "incorrect"
    models, problems = matrix.wide(rows)
    assert models == ["A", "B"]
    assert [p["cells"]["B"] is None for p in problems] == [False, True, True]
    assert [r["model"] for r in matrix.matrix(db.fresh(), lb.Filters(), shared=True).rows] == ["A", "B"]


def test_a_cell_of_the_matrix_is_right_only_where_it_counts(db):
    """Right and never re-run: on the verified board that is no `correct`, as on the audited one a twin is none."""
    from kbstats.analytics import matrix

    fill(db, "A", [2.0], wrong=1)
    db.add("runs", run_id="z", model="B", problem_id=0, problem_name="0.py", source_outcome="correct", correct=False)
    def cells(trust):
        return {(r["model"], r["problem"]): (r["outcome"], r["reason"]) for r in matrix.matrix(db.fresh(), lb.Filters(trust=trust)).rows}

    assert cells("claimed")["A", "0.py"] == ("correct", None)
    assert cells("verified")["A", "0.py"] == ("not_counted", "not_verified")
    assert cells("verified")["A", "1.py"] == ("incorrect", "not_verified")


def test_the_gpu_of_a_verified_board(db):
    """The one on which most results rank here: reduced precision ranks elsewhere. Where none ranks, refusals are still the reason."""
    for run_id, verdicts in (("a", {"NVIDIA A100": "CONFIRMED_REDUCED:tf32", "NVIDIA H200": "CONFIRMED"}), ("b", {"NVIDIA A100": "CONFIRMED_REDUCED:tf32"}), ("c", {"NVIDIA A100": "INCORRECT:values"})):
        db.add("runs", run_id=run_id, model="A", sample_id=ord(run_id), source_outcome="correct", correct=True, speedup=2.0, submitted_kernel_sha256=run_id, precision="fp32")
        for gpu, verdict in verdicts.items():
            kind = verdict.partition(":")[2] or None
            db.add("verifications", verification_id=run_id + gpu, kernel_sha256=run_id, gpu_model=gpu, verdict=verdict, kind=kind, witness={"call": 1})
    (row,) = lb.board(db.fresh(), lb.Filters(trust="verified")).rows
    assert (row["verified_on"], row["correct"]) == ("NVIDIA H200", 1)
    (row,) = lb.board(db.con, lb.Filters(trust="verified", precisions=["tf32"])).rows
    assert (row["verified_on"], row["correct"]) == ("NVIDIA A100", 2)
    db.con.execute("delete from runs where run_id <> 'c'")
    db.current.clear()
    found = lb.board(db.fresh(), lb.Filters(trust="verified"), by="run")
    assert [(r["counts_correct"], r["reason"]) for r in found.rows] == [(False, "incorrect")]
    assert not any("nothing has been re-run" in n for n in found.notes)


def test_an_ambiguous_baseline_name_does_not_leave_its_number_to_another(db):
    """Two timings of one name, one of the other: which of the three a nameless run was timed against, nobody knows."""
    db.add("runs", run_id="a", problem_id=5, problem_name=None, hardware="H100", source_outcome="correct", correct=True, runtime_us=10.0)
    for name, mean in (("5_A.py", 20.0), ("5_A.py", 40.0), ("5_B.py", 60.0)):
        db.add("baselines", suite="kb", level=1, problem_name=name, hardware="H100", baseline="eager", mean_us=mean)
    assert db.one("select speedup from ranked_runs(baseline := 'eager')") is None
    db.con.execute("delete from baselines where problem_name = '5_A.py'")
    assert db.one("select speedup from ranked_runs(baseline := 'eager')") == 6.0


def test_a_timing_file_as_baseline(db, tmp_path):
    import json

    from kbstats.analytics import baseline_files
    from kbstats.ingest.errors import KbstatsError

    path = tmp_path / "H100_Modal" / "baseline_time_torch_compile_inductor_default.json"
    path.parent.mkdir()
    path.write_text(json.dumps({"level1": {"1_A.py": {"mean": 0.2, "std": 0.01, "hardware": "H100"}}}))
    common = {"suite": "kernelbench", "source_outcome": "correct", "correct": True, "runtime_us": 50.0}
    db.add("runs", run_id="a", hardware="NVIDIA H100 80GB", **common)
    db.add("runs", run_id="b", hardware="NVIDIA A100", sample_id=1, **common)
    db.add("baselines", suite="kernelbench", level=1, problem_name="1_A.py", hardware="H100", baseline="compile", mean_us=5.0)
    con = db.fresh()
    try:
        name = baseline_files.use(con, path)
        assert name == "compile"
        rows = lb.board(con, lb.Filters(baseline=name), by="run").rows
        assert {r["run_id"]: r["speedup"] for r in rows} == {"a": pytest.approx(4.0), "b": None}
    finally:
        con.execute("drop table if exists temp.baselines")
    empty = tmp_path / "baseline_time_torch.json"
    empty.write_text("{}")
    with pytest.raises(KbstatsError):
        baseline_files.use(con, empty)


def test_equal_to_the_last_digit_but_one_is_equal(db):
    """Three times 0.1 over three is more than 0.1 by the last bit."""
    fill(db, "A", [2.0, 2.0, 2.0], cost_usd=0.1)
    fill(db, "slow", [0.5], cost_usd=0.1)
    rows = lb.board(db.fresh(), lb.Filters(), sort="cost_per_solved").rows
    assert [(r["model"], r["rank"]) for r in rows] == [("A", 1), ("slow", 1)]


def test_labels_that_nobody_can_read_are_told(db):
    for i, label in enumerate(["ok", "ok", "so so", "incorrect", "correct"]):
        db.add("runs", run_id=f"r{i}", model="A", sample_id=i, source_outcome=label, correct=True if label == "correct" else None)
    for by in ("model", "run"):
        (said,) = (n for n in lb.board(db.fresh(), lb.Filters(), by=by).notes if "label" in n)
        assert said.startswith("3 runs count as not correct since their label says neither right nor wrong ('ok', 'so so')")
