from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("answer", "rest"),
    [
        ("submit_kernel FAILED: kernel did not compile.\ntorchrun eval timed out", "torchrun eval timed out"),
        ("run_correctness FAILED: unexpected error during tool execution. _WorkItemTimeout", "_WorkItemTimeout"),
        ("profile_kernel FAILED (multi-rank, world_size=8): timed out", "timed out"),
        ("submit_kernel FAILED: correctness check did not pass (? trials).\nx", "correctness check did not pass (? trials).\nx"),
        ("plain words", "plain words"),
    ],
)
def test_what_follows_the_prefix(db, answer, rest):
    assert db.rows("select substr($a, len(harness_prefix($a)) + 1)", {"a": answer}) == [(rest,)]
