from __future__ import annotations

import pytest


def run(db, **more):
    db.add("runs", **{"run_id": "a", "submitted_kernel_sha256": "k", "hardware": "NVIDIA H200", "correct": True, "speedup": 2.0} | more)


@pytest.mark.parametrize(
    ("verdict", "ranks", "refutes"),
    [
        ("CONFIRMED", True, None), ("CONFIRMED_FASTER", True, None), ("SLOWER_THAN_CLAIMED", True, "speed"),
        ("NO_SPEEDUP", True, "speed"), ("CONFIRMED_REDUCED:bf16", True, None), ("INCORRECT:values", False, "correctness"),
        ("HACK:stream", False, "correctness"), ("FLAKY:1/60", False, "correctness"), ("IMPLAUSIBLE", False, "speed"),
        ("SUSPECT:regex", False, None), ("INCONCLUSIVE", False, None), ("UNVERIFIABLE:busy_gpu", False, None),
        ("BUILD_FAILED", False, None), ("TIMEOUT", False, None), ("CRASHED", False, None), ("DEGENERATE_PROBLEM", False, None),
    ],
)  # fmt: skip
def test_which_verdicts_rank_and_refute(db, verdict, ranks, refutes):
    run(db)
    db.add("verifications", verification_id="v", verdict=verdict)
    assert db.one("select ranks, refutes_what from run_verifications") == (ranks, refutes)


@pytest.mark.parametrize("verdict", ["SLOWER_THAN_CLAIMED", "NO_SPEEDUP"])
def test_slower_refutes_on_the_claims_own_gpu_only(db, verdict):
    run(db, hardware="NVIDIA H100")
    db.add("verifications", verification_id="v", verdict=verdict)
    assert db.one("select ranks, refutes, refutes_what from run_verifications") == (True, False, None)


def test_joins_on_the_whole_problem_and_folds_the_level_itself(db):
    run(db, variant="original", precision=None)
    db.add("verifications", verification_id="v", variant=None)
    assert db.one("select count(*) from run_verifications") == 1
    db.add("runs", run_id="b", submitted_kernel_sha256="k", problem_name="2_B.py")
    db.add("runs", run_id="c", submitted_kernel_sha256="k", precision="bf16")
    db.add("runs", run_id="d", submitted_kernel_sha256="k", level=2)
    db.add("runs", run_id="e", submitted_kernel_sha256=None)
    assert db.rows("select run_id from run_verifications") == [("a",)]


def test_what_a_record_leaves_out_of_its_problem_is_taken_from_the_others(db):
    """A run that gives a number alone, and one whose variant stands in its other record."""
    db.add("problems", source_id="p", suite="kb", level=1, problem_id=1, problem_name="1_A.py")
    run(db, run_id="number", problem_name=None)
    db.add("verifications", verification_id="v")
    assert db.rows("select run_id, ranks from run_verifications") == [("number", True)]
    assert db.rows("select run_id, problem_name, variant from verify_candidates()") == [("number", "1_A.py", None)]
    run(db, run_id="page", sample_id=1)
    run(db, run_id="trace", sample_id=2, variant="pri")
    db.add("run_links", run_id="trace", linked_run_id="page", matched_on="n_turns")
    # The level's own problem was re-run, and the page is of the other.
    assert db.rows("select run_id from run_verifications") == [("number",)]
    db.add("verifications", verification_id="w", variant="pri")
    assert db.rows("select run_id, verification_id from run_verifications order by all") == [("number", "v"), ("page", "w"), ("trace", "w")]


def test_another_reference_never_ranks(db):
    run(db, reference_sha256="theirs")
    db.add("verifications", verification_id="v", reference_sha256="ours")
    assert db.one("select ranks, refutes, reference_differs from run_verifications") == (False, False, True)
    db.add("verifications", verification_id="w", reference_sha256="theirs", verified_at="2025-01-01 00:00:00+00")
    assert db.one("select verification_id, ranks from run_verifications") == ("w", True)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [(2.0, "CONFIRMED"), (2.1, "CONFIRMED"), (1.5, "CONFIRMED_FASTER"), (2.2, "SLOWER_THAN_CLAIMED"), (2.105, "INCONCLUSIVE"), (5000.0, "SLOWER_THAN_CLAIMED")],
)
def test_each_run_is_judged_by_its_own_claim(db, claim, verdict):
    """Measured 2.0 (1.995 to 2.005) for a claim of 1.9; by docs/verification.md, 5 % around each claim."""
    run(db, speedup=claim)
    db.add("verifications", verification_id="v", speedup_lo=1.995, speedup_hi=2.005, claimed_speedup=1.9)
    assert db.one("select verdict from run_verifications") == verdict


def test_a_claim_for_another_gpu_keeps_the_word(db):
    run(db, speedup=3.0, hardware="NVIDIA H100")
    db.add("verifications", verification_id="v", speedup_lo=1.9, speedup_hi=2.1, claimed_speedup=1.9)
    assert db.one("select verdict, refutes, confirms_claim from run_verifications") == ("CONFIRMED", False, False)
