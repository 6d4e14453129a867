from __future__ import annotations

import pytest


def decide(db):
    return [r[0] for r in db.rows("select verification_id from deciding_verifications order by 1")]


@pytest.mark.parametrize(("older", "newer"), [("9", "10"), ("kbv-9", "kbv-10"), ("1.9", "1.10"), ("kbv-1.9.9", "kbv-1.10"), (None, "0.1")])
def test_newest_protocol_then_date(db, older, newer):
    db.add("verifications", verification_id="old", protocol=older, verified_at="2026-03-01 00:00:00+00")
    db.add("verifications", verification_id="new", protocol=newer, verified_at="2026-01-01 00:00:00+00")
    db.add("verifications", verification_id="newer", protocol=newer, verified_at="2026-02-01 00:00:00+00")
    assert decide(db) == ["newer"]


@pytest.mark.parametrize("verdict", ["INCORRECT:values", "HACK:stream"])
def test_a_witnessed_refusal_wins(db, verdict):
    db.add("verifications", verification_id="bad", verdict=verdict, witness={"call": 3}, protocol="1")
    db.add("verifications", verification_id="good", protocol="2")
    assert decide(db) == ["bad"]


def test_a_refusal_without_witness_does_not(db):
    db.add("verifications", verification_id="bad", verdict="INCORRECT:values", protocol="1")
    db.add("verifications", verification_id="good", protocol="2")
    assert decide(db) == ["good"]


@pytest.mark.parametrize("interval", [(None, None), (3.0, 4.0)])
def test_what_is_wrong_is_wrong_however_it_was_timed(db, interval):
    lo, hi = interval
    db.add("verifications", verification_id="bad", verdict="INCORRECT:values", witness={"call": 3}, speedup=2.0, speedup_lo=lo, speedup_hi=hi)
    db.add("verifications", verification_id="fast", kernel_sha256="k2", verdict="CONFIRMED", speedup=2.0, speedup_lo=lo, speedup_hi=hi)
    assert decide(db) == ["bad"]


def test_gpu_models_references_and_precisions_stay_apart(db):
    db.add("verifications", verification_id="a")
    db.add("verifications", verification_id="b", gpu_model="NVIDIA H100")
    db.add("verifications", verification_id="c", reference_sha256="other")
    db.add("verifications", verification_id="d", precision="bf16")
    assert decide(db) == ["a", "b", "c", "d"]


def test_cpu_and_unsandboxed_results_never_count(db):
    db.add("verifications", verification_id="a", device="cpu", gpu_model=None)
    db.add("verifications", verification_id="b", sandbox_ok=False)
    db.add("verifications", verification_id="c", sandbox_ok=None)
    assert decide(db) == []


def test_a_claim_without_device_or_interval_decides_nothing(db) -> None:
    """A line that somebody wrote by hand into a folder of traces."""
    db.add("verifications", verification_id="a", device=None, speedup=1e6)
    db.add("verifications", verification_id="b", device="cpu")
    db.add("verifications", verification_id="c", speedup=1e6, speedup_lo=None, speedup_hi=None)
    db.add("verifications", verification_id="d", speedup=1e6, speedup_lo=1.0, speedup_hi=2.0)
    assert db.rows("select verification_id from deciding_verifications") == []


def test_within_a_protocol_a_session_that_decided_counts_and_a_newer_protocol_counts_before_it(db) -> None:
    db.add("verifications", verification_id="old", protocol="kbv-1", verdict="CONFIRMED")
    db.add("verifications", verification_id="again", protocol="kbv-1", verdict="INCONCLUSIVE", verified_at="2026-02-01 00:00:00+00")
    assert db.rows("select verification_id, n_results from deciding_verifications") == [("old", 2)]
    db.add("verifications", verification_id="new", protocol="kbv-2", verdict="INCONCLUSIVE", verified_at="2026-01-01 00:00:00+00")
    assert db.rows("select verification_id, n_results from deciding_verifications") == [("new", 3)]
    db.add("verifications", verification_id="newer", protocol="kbv-2", verdict="SLOWER_THAN_CLAIMED")
    assert db.rows("select verification_id, n_results from deciding_verifications") == [("newer", 4)]
