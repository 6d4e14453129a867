"""Why a re-run's result can decide nothing."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, None),
        ({"speedup": None, "speedup_lo": None, "speedup_hi": None}, None),
        ({"device": "cpu"}, "not measured on a GPU"),
        ({"device": None}, "not measured on a GPU"),
        ({"gpu_model": None}, "not measured on a GPU"),
        ({"sandbox_ok": False}, "measured without the sandbox"),
        ({"speedup_lo": None}, "timed without an interval"),
        ({"speedup_hi": 1.5}, "timed without an interval"),
        # What was found wrong is wrong however it was timed.
        ({"speedup_lo": None, "verdict": "HACK:timing"}, None),
        ({"speedup_lo": None, "verdict": "INCORRECT"}, None),
    ],
)
def test_the_reason_and_what_decides_are_one(db, change, why):
    row = {"verification_id": "v", "device": "cuda:0", "speedup": 2.0, "speedup_lo": 1.9, "speedup_hi": 2.1}
    db.add("verifications", **(row | change))
    because = "undecided_because(verdict, device, gpu_model, sandbox_ok, speedup, speedup_lo, speedup_hi)"
    assert db.rows(f"select {because} from verifications") == [(why,)]
    assert bool(db.rows("select 1 from deciding_verifications")) == (why is None)
