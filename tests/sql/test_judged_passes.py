from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("tool", "ok", "passes"),
    [
        ("submit_kernel", True, True),
        ("run_correctness", True, True),
        ("submit_kernel", False, False),
        # A build says nothing of right or wrong.
        ("compile_kernel", True, False),
        ("profile_kernel", True, False),
    ],
)
def test_what_a_pass_in_mid_run_is(db, tool, ok, passes):
    db.add("runs", run_id="a")
    db.add("tool_calls", run_id="a", turn=2, seq=1, tool=tool, ok=ok)
    assert db.rows("from judged_passes") == ([("a", 2, 1)] if passes else [])
