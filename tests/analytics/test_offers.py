from __future__ import annotations

import pytest
from kbstats.analytics import failures, leaderboards, offers
from kbstats.ingest.errors import UsageError


def test_what_a_filter_could_have_been(db):
    db.add("runs", run_id="a", model="m", correct=True, hardware="NVIDIA H100", speedup=2.0, baseline="eager")
    assert offers.missing(db.fresh(), {"models": ["nosuch"], "hardwares": ["h100"], "variants": ["original"]}) == ["no run has --model nosuch: there are m"]
    with pytest.raises(UsageError, match=r"no baseline 'x'.*eager"):
        leaderboards.board(db.fresh(), leaderboards.Filters(baseline="x"))
    with pytest.raises(UsageError, match="nothing was re-run on 'H9'"):
        leaderboards.board(db.fresh(), leaderboards.Filters(trust="verified", verified_on="H9"))
    notes = leaderboards.board(db.fresh(), leaderboards.Filters(trust="verified")).notes
    assert any("nothing has been re-run" in n for n in notes)
    notes = leaderboards.board(db.fresh(), leaderboards.Filters(baseline="eager")).notes
    assert "speedups against eager: 1 of 1 correct runs have one" in notes


def test_a_linked_run_fails_once(db):
    for run_id in ("a", "b"):
        db.add("runs", run_id=run_id, model="m", source_outcome="incorrect", correct=False)
        db.add("tool_calls", run_id=run_id, ok=False, result_text="Output mismatch")
    db.add("run_links", run_id="a", linked_run_id="b", matched_on="wall_s")
    (row,) = failures.summary(db.fresh())
    assert (row["tool_results"], row["runs_touched"]) == (1, 1)
    assert len(failures.failed_runs(db.fresh())) == 1


def test_a_gpu_of_a_verified_board_goes_by_its_short_name(db):
    for i, gpu in enumerate(("NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA H200 NVL")):
        db.add("runs", run_id=f"r{i}", submitted_kernel_sha256=f"k{i}", correct=True, speedup=2.0, source_outcome="correct")
        db.add("verifications", verification_id=f"v{i}", kernel_sha256=f"k{i}", gpu_model=gpu)
    con = db.fresh()
    assert offers.verified_on(con, "h100") == "NVIDIA H100 80GB HBM3"
    assert offers.verified_on(con, "NVIDIA H200") == "NVIDIA H200"
    assert offers.verified_on(con, None) is None
    with pytest.raises(UsageError, match="several GPU models are called 'H200'"):
        offers.verified_on(con, "H200")
    with pytest.raises(UsageError, match="nothing was re-run on 'A100'"):
        offers.verified_on(con, "A100")
