from __future__ import annotations


def test_states_turn_by_turn(db):
    db.add("runs", run_id="a", speedup=2.0, correct=True, source_outcome="correct")
    for turn in range(6):
        db.add("turns", run_id="a", turn=turn)
    calls = [
        ("get_gpu_specs", None, ""), ("compile_kernel", False, "compile_kernel FAILED: x\nError building extension 'k'"),
        ("run_correctness", False, "Output mismatch"), ("run_correctness", True, "PASSED"),
        ("run_correctness", False, "torchrun eval timed out after 3s"), ("submit_kernel", True, "PASSED"),
    ]  # fmt: skip
    for turn, (tool, ok, text) in enumerate(calls):
        db.add("tool_calls", run_id="a", turn=turn, tool=tool, ok=ok, result_text=text)
    got = db.rows("select state, previous_state from run_states order by turn")
    assert [s for s, _ in got] == [None, "not_compiling", "wrong", "right", "not_judged", "faster"]
    assert got[3][1] == "wrong"


def test_a_build_after_a_passing_check_of_the_same_kernel_takes_nothing_back(db):
    db.add("runs", run_id="a")
    for turn, kernels in enumerate([("k", "k"), ("k", "l")]):
        db.add("turns", run_id="a", turn=turn)
        for seq, (tool, kernel) in enumerate(zip(("run_correctness", "compile_kernel"), kernels, strict=True)):
            db.add("tool_calls", run_id="a", turn=turn, seq=seq, tool=tool, ok=True, kernel_sha256=kernel)
    assert db.rows("select turn, state from run_states order by turn") == [(0, "right"), (1, "compiles")]
