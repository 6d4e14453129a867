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
