"""Edges of what counts, each found by breaking the models one token at a time (benchmarks/mutate.py)."""

from __future__ import annotations

import pytest

H200, H100 = "NVIDIA H200", "NVIDIA H100"


def claim(db, **more):
    plain = {"run_id": "a", "source_outcome": "correct", "correct": True, "speedup": 2.0, "runtime_us": 50.0}
    db.add("runs", **plain | {"submitted_kernel_sha256": "k", "hardware": H200} | more)


def level(db, trust, run_id="a"):
    return db.one(f"select counts_correct, speedup, reason from run_trust where run_id = '{run_id}' and trust = '{trust}'")


def word(db):
    return db.one("select verdict from run_verifications")


# ---- run_trust


def test_a_copy_does_not_count_when_verified_either_and_says_why(db):
    for run_id, sweep in (("a", "x"), ("b", "y")):
        claim(db, run_id=run_id, sweep=sweep, wall_s=12.345678, total_tokens=999, n_turns=3)
    assert level(db, "verified", "b") == (False, None, "twin_run")
    assert level(db, "verified") == (False, None, "not_verified")


def test_another_reference_says_so(db):
    claim(db, reference_sha256="mine")
    db.add("verifications", verification_id="v", reference_sha256="another")
    assert level(db, "verified") == (False, None, "reference_differs")


def test_a_lower_precision_says_so(db):
    claim(db)
    db.add("verifications", verification_id="v", verdict="CONFIRMED_REDUCED", kind="TF32", speedup=1.8)
    assert level(db, "verified") == (True, 1.8, "reduced_precision")
    assert db.one("select verified, cleared from run_status") == (True, False)


def test_two_columns_of_a_source_that_contradict_each_other(db):
    """The flag says right, label and evidence say wrong; a re-run that ranks settles it."""
    claim(db, source_outcome="incorrect")
    db.add("tool_calls", run_id="a", ok=False, result_text="Output mismatch")
    assert level(db, "audited") == (False, None, "last_submission_failed")
    db.add("verifications", verification_id="v")
    assert level(db, "audited") == (True, 2.0, None)


# ---- run_status


def test_information_flags_nobody_and_a_warning_does(db):
    claim(db, speedup=12.0)
    assert db.one("select n_findings, flagged, codes from run_status") == (1, False, ["speedup_over_10"])
    db.add("metrics", run_id="a", name="occupancy", value=180.0, unit="pct")
    db.add("metrics", run_id="a", name="occupancy", value=190.0, unit="pct", turn=1, seq=0)
    n, flagged, codes = db.one("select n_findings, flagged, codes from run_status")
    assert n >= 2
    assert flagged
    assert codes == sorted(set(codes))


def test_one_gpu_that_confirms_is_enough_and_each_is_named(db):
    claim(db, speedup=500.0)
    db.add("verifications", verification_id="v", gpu_model=H100, verdict="CONFIRMED", speedup=505.0, claimed_speedup=500.0)
    db.add("verifications", verification_id="w", gpu_model="NVIDIA A100", verdict="INCONCLUSIVE", speedup=400.0)
    got = db.one("select cleared, verified, verified_on, blocks_speed from run_status")
    assert got == (True, True, [H100], [])


def test_of_two_richer_records_the_first_is_named(db):
    for run_id in ("a", "b", "c"):
        claim(db, run_id=run_id, sample_id=ord(run_id))
    db.add("run_links", run_id="a", linked_run_id="c", matched_on="speedup")
    db.add("run_links", run_id="b", linked_run_id="c", matched_on="speedup")
    assert db.one("select left_out, richer_run_id from run_status where run_id = 'c'") == ("linked", "a")


def test_measured_share_of_the_speed_of_light_and_other_baselines(db):
    claim(db)
    for name, value, source, turn in (
        ("sol.score", 0.4, "nsight", None),
        ("roofline.fraction", 0.6, "nsight", None),
        ("sol.score", 0.9, "nsight", 2),
        ("speedup.vs_compile", 1.5, "harness", None),
        ("speedup.vs_tf32", 1.2, "harness", None),
        ("speedup.vs_tf32", 9.0, "harness", 2),
    ):
        db.add("metrics", run_id="a", name=name, value=value, unit="ratio", source=source, turn=turn, seq=turn and 0)
    share, others = db.one("select sol_share, speedups_vs from run_status")
    assert share == 0.6
    assert others == {"compile": 1.5, "tf32": 1.2}


def test_a_heuristic_share_is_none(db):
    claim(db)
    db.add("metrics", run_id="a", name="sol.score", value=0.4, unit="ratio", source="heuristic")
    assert db.one("select sol_share from run_status") is None


@pytest.mark.parametrize(
    ("label", "correct", "ok", "claims"),
    [
        ("correct", None, None, True),
        ("incorrect", None, True, False),
        (None, None, True, True),
        (None, None, False, False),
        ("incorrect", True, None, True),
        ("correct", False, None, False),
    ],
)
def test_what_a_run_claims(db, label, correct, ok, claims):
    claim(db, source_outcome=label, correct=correct)
    if ok is not None:
        db.add("tool_calls", run_id="a", ok=ok, result_text="Output mismatch")
    assert db.one("select claims_correct from run_status") is claims


# ---- run_verifications


def test_slower_than_one_claim_confirms_a_smaller_one(db):
    claim(db, speedup=1.5)
    db.add("verifications", verification_id="v", verdict="SLOWER_THAN_CLAIMED", speedup=1.5, claimed_speedup=4.0)
    assert word(db) == "CONFIRMED"


def test_a_run_without_a_claim_keeps_the_word(db):
    claim(db, speedup=None)
    db.add("verifications", verification_id="v", verdict="CONFIRMED_FASTER")
    assert db.one("select verdict, confirms_claim from run_verifications") == ("CONFIRMED_FASTER", True)


@pytest.mark.parametrize(("correctness", "want"), [("passed", "CONFIRMED"), ("unknown", "INCONCLUSIVE")])
def test_what_could_not_decide_on_one_claim_may_on_another(db, correctness, want):
    claim(db)
    db.add("verifications", verification_id="v", verdict="INCONCLUSIVE", correctness=correctness, claimed_speedup=3.0)
    assert word(db) == want


@pytest.mark.parametrize(
    ("low", "high", "want"),
    [
        (2.2, 2.3, "CONFIRMED_FASTER"),
        (2.1, 2.3, "CONFIRMED"),
        (1.9, 2.3, "CONFIRMED"),
        (1.8, 1.9, "INCONCLUSIVE"),
        (1.7, 1.89, "SLOWER_THAN_CLAIMED"),
    ],
)
def test_the_rule_for_another_claim_has_its_limits_at_five_per_cent(db, low, high, want):
    claim(db)
    db.add("verifications", verification_id="v", claimed_speedup=9.0, speedup=(low + high) / 2, speedup_lo=low, speedup_hi=high)
    assert word(db) == want


@pytest.mark.parametrize(("verdict", "low", "confirms"), [("CONFIRMED", 1.89, True), ("CONFIRMED", 1.87, False), ("SLOWER_THAN_CLAIMED", 1.98, False)])
def test_a_claim_stands_where_the_measurement_is_no_less(db, verdict, low, confirms):
    claim(db)
    db.add("verifications", verification_id="v", verdict=verdict, speedup=2.0, speedup_lo=low, speedup_hi=2.1)
    assert db.one("select confirms_claim from run_verifications") is confirms


# ---- deciding_verifications


def decide(db):
    return [r[0] for r in db.rows("select verification_id from deciding_verifications order by 1")]


def test_no_precision_is_fp32(db):
    db.add("verifications", verification_id="a", precision=None, verified_at="2026-01-02 00:00:00+00")
    db.add("verifications", verification_id="b", precision="fp32", verified_at="2026-01-01 00:00:00+00")
    assert db.one("select verification_id, precision, n_results from deciding_verifications") == ("a", "fp32", 2)


def test_a_kind_may_stand_behind_the_verdict(db):
    db.add("verifications", verification_id="a", verdict="HACK:timer", kind=None)
    assert db.one("select verdict, kind from deciding_verifications") == ("HACK", "timer")


@pytest.mark.parametrize("verdict", ["INCORRECT", "HACK", "FLAKY", "IMPLAUSIBLE"])
def test_a_refusal_needs_no_interval(db, verdict):
    db.add("verifications", verification_id="a", verdict=verdict, speedup=9.0, speedup_lo=None, speedup_hi=None)
    assert decide(db) == ["a"]


@pytest.mark.parametrize("verdict", ["UNVERIFIABLE", "UNVERIFIABLE:busy_gpu"])
def test_a_session_that_could_not_judge_displaces_none_that_could(db, verdict):
    db.add("verifications", verification_id="a", protocol="1")
    db.add("verifications", verification_id="b", protocol="2", verdict=verdict)
    assert decide(db) == ["a"]


def test_a_protocol_without_a_number_is_the_oldest_and_the_id_breaks_ties(db):
    db.add("verifications", verification_id="a", protocol="draft", verified_at="2026-05-01 00:00:00+00")
    db.add("verifications", verification_id="c", protocol="kbv-0.5")
    db.add("verifications", verification_id="b", protocol="kbv-0.5")
    assert decide(db) == ["b"]


def test_a_reduced_confirmation_of_no_named_precision_ranks_nowhere(db):
    db.add("runs", run_id="a", model="M", correct=True, speedup=2.0, submitted_kernel_sha256="k", hardware="NVIDIA H200", source_outcome="correct")
    db.add("verifications", verification_id="v", verdict="CONFIRMED_REDUCED")
    for more in ("", ", precisions := ['fp32']", ", precisions := ['bf16']"):
        assert db.rows(f"select counts_correct from ranked_runs(trust := 'verified'{more})") in ([(False,)], [])


def test_what_ranks_at_a_reduced_precision_shows_no_reason_against_it(db):
    db.add("runs", run_id="a", model="M", correct=True, speedup=2.0, submitted_kernel_sha256="k", hardware="NVIDIA H200", source_outcome="correct")
    db.add("verifications", verification_id="v", verdict="CONFIRMED_REDUCED", kind="bf16")
    assert db.one("select counts_correct, reason from ranked_runs(trust := 'verified', precisions := ['bf16'])") == (True, None)
    assert db.one("select counts_correct, reason from ranked_runs(trust := 'verified')") == (False, "reduced_precision")
