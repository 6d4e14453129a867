"""A run that stands in two records is counted once, whatever is counted."""

from __future__ import annotations

from kbstats.analytics import failures, paths


def twice(db) -> None:
    """A trajectory and its page: the same turns, calls and failure in both."""
    for run_id in ("trace", "page"):
        db.add("runs", run_id=run_id, model="M", sweep="s", source_outcome="incorrect", correct=False, speedup=None)
        for turn, sha in enumerate(("k1", "k2", "k2")):
            db.add("turns", run_id=run_id, turn=turn)
            db.add("tool_calls", run_id=run_id, turn=turn, tool="run_correctness" if turn < 2 else "submit_kernel", ok=False, result_text="Output mismatch", kernel_sha256=sha)
    for sha in ("k1", "k2"):
        db.add("kernels", kernel_sha256=sha, source_code=sha)
    db.add("run_links", run_id="trace", linked_run_id="page", matched_on="n_turns")


def test_the_record_that_does_not_rank(db) -> None:
    twice(db)
    assert db.rows("select run_id, richer_run_id from linked_runs") == [("page", "trace")]
    assert db.rows("select run_id, left_out, richer_run_id from run_status order by run_id") == [("page", "linked", "trace"), ("trace", None, None)]


def test_a_transcript_without_verdict_leaves_its_result_the_run(db) -> None:
    db.add("runs", run_id="transcript", format="codex")
    db.add("runs", run_id="result", source_outcome="incorrect", correct=False)
    db.add("run_links", run_id="transcript", linked_run_id="result", matched_on="folder")
    assert db.rows("from linked_runs") == []


def test_paths_go_through_it_once(db) -> None:
    twice(db)
    found = paths.paths(db.fresh())
    assert {(r["previous_state"], r["state"]): r["n"] for r in found["transitions"]} == {("start", "wrong"): 1, ("wrong", "wrong"): 2}
    assert [(r["turns_lost"], r["n_runs"]) for r in found["costs"]] == [(3, 1)]
    assert {r["tool"]: (r["n_runs"], r["n_calls"]) for r in found["tools"]} == {"run_correctness": (1, 2), "submit_kernel": (1, 1)}
    assert [r["edits"] for r in found["edits"]] == [1]
    assert {r["n_runs"] for r in found["anytime"]} == {1}


def test_a_sweep_counts_it_once(db) -> None:
    for i in range(12):
        for copy in ("a", "b"):
            db.add("runs", run_id=f"{copy}{i}", sweep="s", model="M", problem_id=i, problem_name=f"{i}.py", compiled=True, correct=False,
                   extra={"metadata": {"runtime_error": "CUDA error: no kernel image is available for execution on the device"}})  # fmt: skip
        db.add("run_links", run_id=f"a{i}", linked_run_id=f"b{i}", matched_on="wall_s")
    assert db.rows("select n, n_runs, longest_streak from sweep_patterns") == [(12, 12, 12)]


def test_patterns_and_paths_know_a_model_by_both_of_its_names(db) -> None:
    twice(db)
    db.con.execute("update runs set model_raw = 'vendor/M'")
    assert paths.paths(db.fresh(), models=["vendor/M"])["costs"]
    assert failures.names_of(db.con, ["vendor/M"]) == ["vendor/M", "M"]
