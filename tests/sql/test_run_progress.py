from __future__ import annotations


def test_turns_are_counted_not_their_numbers(db):
    """Turns 1, 2, 5 and 9: the first pass in the third, the best in the last."""
    db.add("runs", run_id="a", source_outcome="correct", correct=True, speedup=3.0)
    for turn in (1, 2, 5, 9):
        db.add("turns", run_id="a", turn=turn)
    for turn, tool, ok in ((1, "compile_kernel", True), (2, "run_correctness", False), (5, "run_correctness", True), (9, "submit_kernel", True)):
        db.add("tool_calls", run_id="a", turn=turn, tool=tool, ok=ok)
    assert db.rows("select turns_to_first_right, turns_to_best, n_passes, best_speedup from run_progress") == [(3, 4, 2, 3.0)]


def test_without_turns_the_number_is_taken_and_without_a_pass_there_is_no_row(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True)
    db.add("tool_calls", run_id="a", turn=2, tool="run_correctness", ok=True)
    db.add("runs", run_id="b")
    db.add("tool_calls", run_id="b", turn=2, tool="run_correctness", ok=False, result_text="Output mismatch")
    db.add("runs", run_id="c", format="inspect_ai")
    db.add("tool_calls", run_id="c", tool="submit", ok=True)
    assert db.rows("select run_id, turns_to_first_right, turns_to_best from run_progress") == [("a", 3, None)]
