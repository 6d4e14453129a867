"""KernelBenchLeaderboard."""

from __future__ import annotations

import json

import pytest
from kbstats.ingest.formats.kernelbench_leaderboard import FORMAT

RAW = "kernelbench_leaderboard/raw_data.json"


def test_claims_the_raw_data(claimed, fixtures):
    assert [str(p.relative_to(fixtures)) for p in claimed(FORMAT, fixtures)] == [RAW]


def test_a_row(read, fixtures):
    # The file counts problems from 0, the suite from 1.
    found = read(FORMAT, fixtures / RAW)
    run = found.run(problem_id=2, model_raw="m1")
    assert (run.runtime_us, run.ref_runtime_us, run.speedup, run.baseline) == (2000.0, 4000.0, 2.0, "eager")
    assert (run.correct, run.level, run.extra["display_name"], run.extra["file"]) == (True, 2, "M1", "f1")
    assert found.metrics(run) == {("ratio", "speedup.vs_compile"): 0.5, ("reference", "runtime.compile"): 1000.0}


def test_a_row_without_a_time_claims_nothing(read, fixtures):
    run = read(FORMAT, fixtures / RAW).run(problem_id=3)
    assert (run.correct, run.runtime_us, run.speedup, run.baseline) == (None, None, None, None)


def test_bad_rows_leave_the_others(read, fixtures):
    found = read(FORMAT, fixtures / RAW)
    assert sorted((r.problem_id, r.model_raw) for r in found["runs"]) == [(2, "m1"), (2, "m2"), (3, "m1")]
    assert found.codes() == {"type_dropped": 2, "duplicate_run": 1, "bad_row": 1}
    assert len(found.batch.kernels) == 2


def test_never_raises(fuzz, fixtures):
    fuzz(FORMAT, "raw_data.json", json.loads((fixtures / RAW).read_text()))


@pytest.mark.real
def test_real(read, claimed, real):
    (path,) = claimed(FORMAT, real)
    raw = json.loads(path.read_text())
    found = read(FORMAT, path)
    assert not found.issues
    assert len({r.run_id for r in found["runs"]}) == len(raw) == 413
    assert sum(r.speedup for r in found["runs"]) == pytest.approx(sum(r["torch_speedup"] for r in raw))
    assert sum(r.runtime_us for r in found["runs"]) == pytest.approx(1000 * sum(r["kernel_eval_time"] for r in raw))
    assert len(found.batch.kernels) == len({r["code"].replace("\r\n", "\n").rstrip() for r in raw})
