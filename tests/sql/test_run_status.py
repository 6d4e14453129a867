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
    db.add("verifications", verification_id="v")
    assert db.one("select blocks_speed, verified, refuted from run_status") == ([], True, False)


def test_a_refutation_is_not_cleared_by_another_gpu(db):
    db.add("runs", run_id="a", speedup=2.0, correct=True, source_outcome="correct", submitted_kernel_sha256="k")
    db.add("verifications", verification_id="v")
    db.add("verifications", verification_id="w", verdict="INCORRECT:values", gpu_model="NVIDIA H100", witness={"x": 1})
    assert db.one("select blocks_correctness, verified, refuted from run_status") == (["refuted"], True, True)
