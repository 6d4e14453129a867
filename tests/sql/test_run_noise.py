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


@pytest.mark.parametrize(
    ("mean", "std", "trials", "band"),
    [
        (100.0, 10.0, None, 0.196),  # no number of trials: one
        (100.0, 10.0, 1.0, 0.196),
        (100.0, 10.0, 0.0, 0.196),
        (100.0, 10.0, 4.0, 0.098),
        (0.5, 0.05, None, 0.196),  # half a microsecond is a time
        (0.0, 1.0, None, None),
        (100.0, None, None, None),  # no spread, no row
    ],
)
def test_what_the_band_rests_on(db, mean, std, trials, band):
    """1.96 · (std / mean) / √trials."""
    for name, value in (("mean", mean), ("std", std), ("trials", trials)):
        if value is not None:
            db.add("metrics", run_id="a", name=f"runtime.{name}", value=value)
    assert [r[0] for r in db.rows("select noise_band from run_noise")] == ([] if band is None else [pytest.approx(band)])


def test_a_mean_that_no_metric_gives_is_the_runs_own_runtime(db):
    """std = mean on both sides, ten trials: 1.96 * sqrt(2 * 1 / 10)."""
    db.add("runs", run_id="a", correct=True, runtime_us=100.0, ref_runtime_us=120.0, speedup=1.2)
    for subject, std in (("candidate", 100.0), ("reference", 120.0)):
        db.add("metrics", run_id="a", subject=subject, name="runtime.std", value=std)
        db.add("metrics", run_id="a", subject=subject, name="runtime.trials", value=10.0)
    assert db.one("select noise_band from run_noise") == pytest.approx(1.96 * math.sqrt(0.2))
    assert db.one("select near_tie from ranked_runs()") is True
    assert db.findings("std_over_mean") == {}
    db.con.execute("update metrics set value = 150 where name = 'runtime.std' and subject = 'candidate'")
    db.current.clear()
    assert db.findings("std_over_mean") == {"a": 1.5}
