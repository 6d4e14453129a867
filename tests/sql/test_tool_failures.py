from __future__ import annotations


def test_one_row_a_failing_call_and_unclassified_is_said(db):
    db.add("tool_calls", run_id="a", seq=0, ok=True, result_text="Output mismatch")
    db.add("tool_calls", run_id="a", seq=1, ok=False, result_text="a thing nobody has seen")
    db.add("tool_calls", run_id="a", seq=2, ok=False, result_text=None)
    db.add("tool_calls", run_id="a", seq=3, ok=False, tool="run_correctness", result_text="FAILED: ?\nruntime_error: expected scalar type Float but found Half")
    got = db.rows("select seq, failure_class, owner, evidence from tool_failures order by seq")
    assert got[0] == (1, "unclassified", None, "a thing nobody has seen")
    assert got[1] == (2, "unclassified", None, None)
    assert got[2][1:3] == ("dtype.mismatch", "model")


def test_the_phase_decides_between_build_and_run(db):
    err = "AttributeError: 'ModelNew' object has no attribute 'w'"
    db.add("tool_calls", run_id="a", seq=0, ok=False, tool="compile_kernel", result_text=f"compile_kernel FAILED: AttributeError.\n{err}")
    db.add("tool_calls", run_id="a", seq=1, ok=False, tool="run_correctness", result_text=f"run_correctness FAILED: ? trials\nruntime_error: {err}")
    db.add("tool_calls", run_id="a", seq=2, ok=False, result_text="submit_kernel FAILED: kernel did not compile.\neval_kernel_against_ref raised: AcceleratorError: CUDA error: misaligned address")
    db.add("tool_calls", run_id="a", seq=3, ok=False, result_text="submit_kernel FAILED: kernel did not compile.\nsomething new")
    db.add("tool_calls", run_id="a", seq=4, ok=False, result_text="submit_kernel FAILED: correctness check did not pass ((0 / 3) trials).\nsomething new")
    assert [r[0] for r in db.rows("select outcome from tool_failures order by seq")] == [
        "compile_fail", "runtime_fail", "runtime_fail", "compile_fail", "incorrect",
    ]  # fmt: skip
