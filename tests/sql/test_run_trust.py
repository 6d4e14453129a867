from __future__ import annotations


def trust(db, run_id="a"):
    return {
        (t, gpu): (correct, speedup, reason)
        for t, gpu, correct, speedup, reason in db.rows(
            "select trust, verified_on, counts_correct, speedup, reason from run_trust where run_id = ?", [run_id]
        )
    }


def claim(db, **more):
    db.add("runs", **{"run_id": "a", "source_outcome": "correct", "correct": True, "speedup": 2.0, "runtime_us": 50.0, "submitted_kernel_sha256": "k", "hardware": "NVIDIA H200"} | more)


def test_a_plain_claim(db):
    claim(db)
    assert trust(db) == {
        ("claimed", None): (True, 2.0, None),
        ("audited", None): (True, 2.0, None),
        ("verified", None): (False, None, "not_verified"),
    }


def test_a_speed_finding_leaves_the_run_correct(db):
    claim(db, speedup=5000.0)
    assert trust(db)[("audited", None)] == (True, None, "speedup_extraordinary")


def test_a_label_against_the_evidence_does_not_count(db):
    claim(db)
    db.add("tool_calls", run_id="a", ok=False, result_text="Output mismatch")
    assert trust(db)[("claimed", None)] == (True, 2.0, None)
    assert trust(db)[("audited", None)] == (False, None, "label_conflict")


def test_what_the_source_calls_wrong_never_ranks_as_right(db):
    claim(db, source_outcome="incorrect", correct=False)
    db.add("tool_calls", run_id="a", ok=True, result_text="PASSED")
    assert trust(db)[("claimed", None)][0] is False
    assert trust(db)[("audited", None)][0] is False


def test_verified_ranks_with_the_measured_speedup(db):
    claim(db)
    db.add("verifications", verification_id="v", verdict="CONFIRMED_FASTER", speedup=3.5)
    assert trust(db)[("verified", "NVIDIA H200")] == (True, 3.5, None)
    assert trust(db)[("audited", None)] == (True, 2.0, None)


def test_slower_than_claimed_ranks_measured_and_blocks_the_claim(db):
    claim(db, speedup=4.0)
    db.add("verifications", verification_id="v", verdict="SLOWER_THAN_CLAIMED", speedup=1.5)
    assert trust(db)[("verified", "NVIDIA H200")] == (True, 1.5, None)
    assert trust(db)[("audited", None)] == (True, None, "refuted_speed")


def test_no_speedup_ranks_as_correct_and_not_fast(db):
    claim(db)
    db.add("verifications", verification_id="v", verdict="NO_SPEEDUP", speedup=1.004)
    assert trust(db)[("verified", "NVIDIA H200")] == (True, 1.0, None)


def test_refuted(db):
    claim(db)
    db.add("verifications", verification_id="v", verdict="HACK:stream", speedup=9.0)
    assert trust(db)[("verified", "NVIDIA H200")] == (False, None, "hack")
    assert trust(db)[("audited", None)] == (False, None, "refuted")


def test_a_verification_clears_a_label_conflict(db):
    claim(db)
    db.add("tool_calls", run_id="a", ok=False, result_text="torchrun eval timed out after 300s")
    db.add("verifications", verification_id="v")
    assert trust(db)[("audited", None)] == (True, 2.0, None)


def test_two_gpu_models_are_two_rows(db):
    claim(db)
    db.add("verifications", verification_id="v", speedup=2.1)
    db.add("verifications", verification_id="w", speedup=1.7, gpu_model="NVIDIA H100")
    got = trust(db)
    assert got[("verified", "NVIDIA H200")][1] == 2.1
    assert got[("verified", "NVIDIA H100")][1] == 1.7


def test_of_twins_one_ranks(db):
    for run_id, sweep in (("a", "x"), ("b", "y")):
        claim(db, run_id=run_id, sweep=sweep, wall_s=12.345678, total_tokens=999, n_turns=3)
    assert trust(db, "a")[("audited", None)][0] is True
    assert trust(db, "b")[("audited", None)] == (False, None, "twin_run")


def test_what_counts_when_audited_was_claimed(db):
    labels = [None, "correct", "Success", "PASSED", "incorrect", "Incorrect", "error", "compile_fail", "Timeout", "anything"]
    n = 0
    for label in labels:
        for correct in (None, True, False):
            for ok in (None, True, False):
                n += 1
                db.add("runs", run_id=f"r{n}", source_outcome=label, correct=correct, speedup=2.0)
                if ok is not None:
                    db.add("tool_calls", run_id=f"r{n}", ok=ok, result_text="submit_kernel: Output mismatch")
    counted = {t: {r[0] for r in db.rows("select run_id from run_trust where trust = ? and counts_correct", [t])} for t in ("claimed", "audited")}
    assert counted["audited"]
    assert counted["audited"] - counted["claimed"] == set()
    labelled = "select o.label_outcome from run_outcomes as o where o.label in ('Success', 'Timeout', 'Incorrect') group by 1 order by 1"
    assert [r[0] for r in db.rows(labelled)] == ["correct", "incorrect", "timeout"]
