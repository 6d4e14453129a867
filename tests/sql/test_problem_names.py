from __future__ import annotations


def test_spellings_of_one_problem(db):
    rows = [("a", "1_A", 1), ("b", None, 1), ("c", "1_A", None), ("d", "A", 1), ("e", "1_A.py", 1), ("f", "2_B", 2), ("g", "A", None)]
    for run_id, name, number in rows:
        db.add("runs", run_id=run_id, problem_name=name, problem_id=number, model=run_id, correct=True, speedup=2.0, source_outcome="correct")
    got = db.rows("select problem_id, spelled, problem_name from problem_names order by 1 nulls last, 2")
    assert got == [(1, "1_A", "1_A.py"), (1, "A", "1_A.py"), (None, "1_A", "1_A.py")]
    keys = dict(db.rows("select run_id, problem_key from run_problems"))
    assert {keys[r] for r in "abcde"} == {"kb/original/1/1/1_A.py"}
    assert keys["f"] == "kb/original/1/2/2_B"
    assert keys["g"] == "kb/original/1/?/A", "a name alone says nothing of a number"
    assert db.one("select count(*) from suite_problems") == 3


def test_a_checkout_gives_its_spelling(db):
    db.add("problems", source_id="p", suite="kb", level=1, problem_id=1, problem_name="1_A.py", source_code="x")
    db.add("runs", run_id="a", problem_name="1_A", problem_id=1)
    assert db.one("select problem_name from run_problems") == "1_A.py"
    assert db.one("select count(*) from suite_problems") == 1


def test_other_variants_and_levels_keep_their_own(db):
    db.add("runs", run_id="a", problem_name="1_A")
    db.add("runs", run_id="b", problem_name="1_A.py", variant="popcorn", sample_id=1)
    db.add("runs", run_id="c", problem_name="1_A.py", level=2, sample_id=2)
    assert db.rows("from problem_names") == []


def test_timings_and_results_are_found_whatever_the_ending(db):
    db.add("runs", run_id="a", problem_name="1_A", correct=True, runtime_us=50.0, hardware="NVIDIA H200", source_outcome="correct",
           submitted_kernel_sha256="k")  # fmt: skip
    db.add("baselines", suite="kb", level=1, problem_name="1_A.py", baseline="eager", hardware="H200", mean_us=100.0)
    db.add("verifications", verification_id="v", problem_name="1_A.py", speedup=1.9)
    assert db.one("select speedup from ranked_runs(baseline := 'eager')") == 2.0
    assert db.one("select speedup from ranked_runs(trust := 'verified')") == 1.9
