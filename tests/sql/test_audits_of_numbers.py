"""Audits of counters, floors, baselines and copies, on rows to name and rows at the threshold."""

from __future__ import annotations

import pytest

REFERENCE = """import torch
B = 16
class Model(torch.nn.Module):
    # the reference
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(popcorn_pri.jitter_int(B), 48)]
"""


def metric(db, run_id, name, value, **more):
    db.add("metrics", run_id=run_id, name=name, value=value, **more)


def test_no_kernel_launched(db):
    for run_id, n, more in (("bad", 0.0, {"runtime_us": 9.0}), ("good", 1.0, {"runtime_us": 9.0}), ("untimed", 0.0, {})):
        db.add("runs", run_id=run_id, correct=True, source_outcome="correct", **more)
        metric(db, run_id, "kernels.launched", n, unit="count")
        metric(db, run_id, "kernels.launched", 0.0, subject="reference")
    db.add("runs", run_id="wrong", correct=False, runtime_us=9.0)
    metric(db, "wrong", "kernels.launched", 0.0)
    assert db.findings("no_kernel_launched") == {"bad": 0.0}
    assert db.rows("select counts_correct, reason from run_trust where run_id = 'bad' and trust = 'audited'") == [(True, "no_kernel_launched")]


def test_above_speed_of_light(db):
    for run_id, value, source in (("bad", 1.2, "nsight"), ("good", 1.05, "nsight"), ("guess", 3.0, "heuristic")):
        metric(db, run_id, "sol.score", value, source=source)
    metric(db, "fraction", "roofline.fraction", 1.5, subject="ratio")
    assert db.findings("above_speed_of_light") == {"bad": 1.2, "fraction": 1.5}


@pytest.mark.parametrize(
    ("hardware", "watts", "stands"),
    [("NVIDIA H100 80GB HBM3", 771.0, True), ("NVIDIA H100 80GB HBM3", 769.0, False), (None, 1499.0, False), (None, 1501.0, True), ("Unheard-of 9", 1501.0, True)],
)
def test_power_over_the_named_board(db, hardware, watts, stands):
    db.add("runs", run_id="a", hardware=hardware)
    metric(db, "a", "power.mean", watts)
    assert bool(db.findings("power_over_board")) is stands


@pytest.mark.parametrize(("gbs", "stands"), [(3517.0, False), (3518.0, True)])
def test_bandwidth_over_the_data_sheets_peak(db, gbs, stands):
    """3,350 GB/s and 5 %: 3,517.5."""
    db.add("runs", run_id="a", hardware="H100")
    metric(db, "a", "dram.bandwidth", gbs)
    assert bool(db.findings("bandwidth_over_peak")) is stands


def test_a_bandwidth_is_held_to_the_peak_beside_it(db):
    """Two are over their peaks; the higher one is named, with its own peak and not with the higher of the two."""
    db.add("runs", run_id="a", hardware="NVIDIA H100")
    for turn, value, peak in ((0, 4000.0, 2000.0), (1, 3800.0, 3000.0)):
        metric(db, "a", "dram.bandwidth", value, turn=turn)
        metric(db, "a", "peak.bandwidth", peak, turn=turn)
    assert db.rows("select message, value, threshold from audit_findings where code = 'bandwidth_over_peak'") == [
        ("memory bandwidth of 4000 GB/s, over the peak of 2000 GB/s named beside it", 4000.0, 2000.0)
    ]


def test_relabelled_names_the_latest_other_record(db):
    db.add("runs", run_id="a", source_outcome="correct", correct=True)
    for day, before in ((1, "timeout"), (3, "incorrect"), (2, "compile_fail"), (9, None)):
        db.add("run_copies", run_id="a", source_id=f"s{day}", reason="relabelled", finished_at=f"2026-01-0{day} 00:00:00+00",
               record={"run": {"source_outcome": before}})  # fmt: skip
    said = "select message from audit_findings where code = 'relabelled'"
    assert db.one(said) == "relabelled correct, was incorrect"
    db.con.execute("""update runs set extra = '{"outcome_original": "llm_error"}'""")
    db.current.clear()
    assert db.one(said) == "relabelled correct, was llm_error"


def test_speedup_over_headroom(db):
    for run_id, speedup in (("bad", 3.0), ("good", 2.1)):
        db.add("runs", run_id=run_id, correct=True, speedup=speedup)
        metric(db, run_id, "dram.utilization", 50.0, subject="reference")
        metric(db, run_id, "compute.utilization", 10.0, subject="reference")
        metric(db, run_id, "dram.utilization", 99.0, subject="candidate")
    assert db.findings("speedup_over_headroom") == {"bad": 3.0}


def test_runtime_below_floor(db):
    """An H100 moves 3,350 GB/s and does at most 1,979 TFLOP/s in 8 bits: 1 GB takes 299 us, 1e12 operations 505 us."""

    def profile(run_id, runtime_us, gpu_us, gbs, intensity=None, **more):
        db.add("runs", run_id=run_id, runtime_us=runtime_us, **({"hardware": "NVIDIA H100 80GB HBM3", "correct": True} | more))
        for name, value in (("gpu_time", gpu_us), ("dram.bandwidth", gbs), ("arithmetic_intensity", intensity)):
            if value is not None:
                metric(db, run_id, name, value, source="nsight")

    assert db.one("select peak_tflops from gpu_sheets where gpu = 'H100'") == 989.5
    profile("moves", 100.0, 500.0, 2000.0)
    profile("in time", 280.0, 500.0, 2000.0)
    profile("fits the cache", 1.0, 50.0, 2000.0)
    profile("doubtful counter", 1.0, 500.0, 50_000.0)
    profile("no such GPU", 1.0, 500.0, 2000.0, hardware="Abacus")
    profile("computes", 400.0, 100.0, 1000.0, 1e4)
    profile("computes in time", 500.0, 100.0, 1000.0, 1e4)
    assert db.findings("runtime_below_floor") == {"moves": 100.0, "computes": 400.0}
    found = db.rows("select run_id, message, threshold from audit_findings where code = ? order by run_id", ["runtime_below_floor"])
    assert found[0][2] == pytest.approx(1e12 / 1979e12 * 1e6)
    assert found[1][1:] == ("runtime of 100 us; the 1000 MB that its profile counts take the H100 at least 298.5 us", pytest.approx(1e9 / 3350e9 * 1e6))


def test_zero_power(db):
    metric(db, "bad", "energy.per_run.zero", 1.0, unit="count")
    metric(db, "bad", "power.mean.zero", 1.0, turn=1, seq=0, unit="count")
    metric(db, "reference", "power.mean.zero", 1.0, subject="reference", unit="count")
    metric(db, "good", "energy.per_run", 0.1)
    assert db.findings("zero_power") == {"bad": 0.0, "reference": 0.0}
    said = dict(db.rows("select run_id, message from audit_findings where code = 'zero_power'"))
    assert said["bad"].startswith("energy.per_run, power.mean of exactly 0:")
    assert said["reference"].startswith("power.mean of exactly 0 for the reference:")


def test_error_over_budget(db):
    for run_id, precision, largest, relative in (("bad", "fp32", 2e-4, 2e-4), ("half", "fp16", 2e-3, 2e-3), ("near_zero", "fp32", 1e-5, 50.0), ("worse_half", "bf16", 0.02, 0.02)):
        db.add("runs", run_id=run_id, correct=True, precision=precision)
        metric(db, run_id, "error.max_abs", largest)
        metric(db, run_id, "error.max_rel", relative)
    # One of the two alone says nothing: large outputs have large absolute errors.
    for name in ("error.max_abs", "error.max_rel"):
        db.add("runs", run_id=name, correct=True, precision="fp32")
        metric(db, name, name, 5.0)
    assert db.findings("error_over_budget") == {"bad": 2e-4, "worse_half": 0.02}


def test_relative_error_absurd(db):
    for run_id, value in (("bad", 1001.0), ("good", 999.0)):
        db.add("runs", run_id=run_id, correct=True)
        metric(db, run_id, "error.max_rel", value)
    assert db.findings("relative_error_absurd") == {"bad": 1001.0}


def test_baselines(db):
    common = {"suite": "kb", "level": 1, "problem_name": "1_A.py"}
    db.add("runs", run_id="bad", correct=True, runtime_us=9.0, hardware="NVIDIA H200", **common)
    db.add("runs", run_id="has", correct=True, runtime_us=9.0, speedup=2.0, hardware="NVIDIA H200", **common)
    db.add("runs", run_id="eras", correct=True, runtime_us=9.0, hardware="A100", **common)
    db.add("baselines", baseline="eager", hardware="A100", mean_us=10.0, **common)
    assert db.findings("baseline_missing") == {"bad": 9.0}
    assert db.one("select message from audit_findings where code = 'baseline_missing'").endswith("of A100 only")
    assert db.findings("baseline_eras") == {}
    db.add("baselines", baseline="eager", hardware="A100_PCIe", mean_us=100.0, **common)
    assert db.findings("baseline_eras") == {"eras": 10.0}


def test_copies(db):
    for reason in ("rerun", "relabelled", "identical"):
        db.add("runs", run_id=reason, source_outcome="correct", correct=True, sample_id=len(reason))
        db.add("run_copies", run_id=reason, source_id="t", reason=reason, record={})
    assert db.findings("rerun") == {"rerun": 1.0}
    assert set(db.findings("relabelled")) == {"relabelled"}


def test_the_reference_with_another_name(db):
    db.add("problems", source_id="p", suite="kb", level=1, problem_name="1_A.py", source_code=REFERENCE, source_sha256="ref")
    renamed = REFERENCE.replace("Model(", "ModelNew(").replace("# the reference", "# my fast kernel").replace("    ", "  ")
    for run_id, code in (("bad", renamed), ("good", renamed.replace("relu(x)", "relu(x) + 0"))):
        db.add("kernels", kernel_sha256=run_id, source_code=code)
        db.add("runs", run_id=run_id, submitted_kernel_sha256=run_id, correct=True)
    assert set(db.findings("kernel_is_reference")) == {"bad"}


@pytest.mark.parametrize(
    ("code", "stands"),
    [("B=16; H0=48\n__global__", True), ("#define B 16\n__global__", True), ("batch_size = 16  # triton", True), ("n = x.size(0)  # triton 16", False), ("SUB = 160", False)],
)
def test_hard_coded_shape(db, code, stands):
    db.add("problems", source_id="p", suite="kb", level=1, problem_name="1_A.py", source_code=REFERENCE, source_sha256="ref", draws_shapes=True)
    db.add("kernels", kernel_sha256="k", source_code=code)
    db.add("runs", run_id="a", submitted_kernel_sha256="k", correct=True)
    assert db.findings("suspect_hard_coded_shape") == ({"a": 16.0} if stands else {})


CODES = ["no_kernel_launched", "suspect_streams", "suspect_pointer_cache", "suspect_patched_timer", "suspect_fallback", "suspect_precision_flags", "suspect_looks_around", "suspect_no_custom_kernel", "sweep_invalid"]


@pytest.mark.parametrize("code", CODES)
def test_audits_that_other_files_test_are_known(code):
    """Marks: test_kernel_marks.py; sweeps: test_sweep_patterns.py."""
    from kbstats.analytics import audit

    assert code in audit.codes()
