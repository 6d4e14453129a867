from __future__ import annotations


def test_findings_links_and_infra(db):
    db.add("runs", run_id="a", speedup=500.0, correct=True, source_outcome="correct")
    db.add("runs", run_id="b", source_outcome="in_progress")
    db.add("runs", run_id="c", source_outcome="skipped")
    db.add("runs", run_id="d", source_outcome="correct", correct=True, speedup=3.0)
    db.add("run_links", run_id="a", linked_run_id="d", matched_on="speedup")
    db.add("run_links", run_id="gone", linked_run_id="b", matched_on="speedup")
    got = {r[0]: r[1:] for r in db.rows("select run_id, attempted, is_infra, flagged, blocks_speed from run_status")}
    assert got["a"] == (True, False, True, ["speedup_extraordinary"])
    assert got["b"] == (True, True, False, [])  # a link whose richer record is gone binds nobody
    assert got["c"][0] is False
    assert got["d"][0] is False


def test_a_ranking_verification_clears_what_blocked(db):
    db.add("runs", run_id="a", speedup=500.0, correct=True, source_outcome="correct", submitted_kernel_sha256="k")
    db.add("verifications", verification_id="v", speedup=510.0, claimed_speedup=500.0)
    assert db.one("select blocks_speed, verified, refuted from run_status") == ([], True, False)


def test_a_confirmed_claim_of_another_run_clears_nothing_here(db):
    """One kernel, two claims: what was measured confirms the one of 2x and refutes the one of 5,000x."""
    common = {"correct": True, "source_outcome": "correct", "submitted_kernel_sha256": "k", "hardware": "NVIDIA H200"}
    db.add("runs", run_id="honest", speedup=2.0, **common)
    db.add("runs", run_id="boast", speedup=5000.0, sample_id=1, **common)
    db.add("verifications", verification_id="v", speedup=2.0, speedup_lo=1.98, speedup_hi=2.02, claimed_speedup=2.0)
    got = {r[0]: r[1:] for r in db.rows("select run_id, blocks_speed, verified, refuted from run_status")}
    assert got["honest"] == ([], True, False)
    assert got["boast"] == (["refuted_speed", "speedup_extraordinary"], True, True)


def test_a_confirmation_on_another_gpu_clears_no_larger_claim(db):
    db.add("runs", run_id="a", speedup=5000.0, correct=True, source_outcome="correct", submitted_kernel_sha256="k", hardware="A100")
    db.add("verifications", verification_id="v", speedup=2.0, claimed_speedup=2.0)
    assert db.one("select blocks_speed, verified, refuted from run_status") == (["speedup_extraordinary"], True, False)


def test_shares_of_the_speed_of_light_and_other_baselines(db):
    db.add("runs", run_id="a", correct=True)
    db.add("metrics", run_id="a", name="sol.score", value=0.4, source="nsight")
    db.add("metrics", run_id="a", name="speedup.vs_compile", value=1.5, subject="ratio")
    db.add("runs", run_id="b", correct=True)
    db.add("metrics", run_id="b", name="sol.score", value=0.9, source="heuristic")
    assert db.rows("select sol_share, speedups_vs from run_status order by run_id") == [(0.4, {"compile": 1.5}), (None, None)]


def test_a_refutation_is_not_cleared_by_another_gpu(db):
    db.add("runs", run_id="a", speedup=2.0, correct=True, source_outcome="correct", submitted_kernel_sha256="k")
    db.add("verifications", verification_id="v")
    db.add("verifications", verification_id="w", verdict="INCORRECT:values", gpu_model="NVIDIA H100", witness={"x": 1})
    assert db.one("select blocks_correctness, verified, refuted from run_status") == (["refuted"], True, True)
