from __future__ import annotations

import math

import pytest


def test_the_standard_error_of_the_quotient(db):
    """Means 100 and 200, deviations 10 and 30, 16 trials each."""
    for subject, mean, std in (("candidate", 100.0, 10.0), ("reference", 200.0, 30.0)):
        db.add("metrics", run_id="a", name="runtime.mean", value=mean, subject=subject)
        db.add("metrics", run_id="a", name="runtime.std", value=std, subject=subject)
        db.add("metrics", run_id="a", name="runtime.trials", value=16.0, subject=subject)
    assert db.one("select noise_band from run_noise") == pytest.approx(1.96 * math.sqrt((0.1**2 + 0.15**2) / 16))


def test_never_below_two_percent_and_mid_run_timings_do_not_count(db):
    db.add("metrics", run_id="a", name="runtime.mean", value=100.0)
    db.add("metrics", run_id="a", name="runtime.std", value=0.001)
    db.add("metrics", run_id="b", turn=1, name="runtime.mean", value=100.0)
    db.add("metrics", run_id="b", turn=1, name="runtime.std", value=90.0)
    assert db.rows("from run_noise") == [("a", 0.02)]
