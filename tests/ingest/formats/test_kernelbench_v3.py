"""KernelBench-v3."""

from __future__ import annotations

import pytest
import yaml
from kbstats.ingest.formats.kernelbench_v3 import FORMAT

RUNS = "kernelbench_v3/runs"


def test_claims_kernels_and_manifests_without_them(claimed, fixtures):
    found = {str(p.relative_to(fixtures / "kernelbench_v3")) for p in claimed(FORMAT, fixtures)}
    assert found == {
        "runs/20250102_030405_raw_cuda_acme_org_model-1/kernel_21_21_Sigmoid_py/metrics.yaml",
        "runs/20250102_040506_raw_cuda_acme_org_model-1/kernel_3_3_Conv_v2_py/metrics.yaml",
        "manifest_only/manifest.yaml", "broken/kernel_1_1_A_py/metrics.yaml",
    }


def test_a_kernel_with_all_that_lies_beside(read, fixtures):
    path = fixtures / RUNS / "20250102_030405_raw_cuda_acme_org_model-1/kernel_21_21_Sigmoid_py/metrics.yaml"
    found = read(FORMAT, path)
    run = found.run()
    assert (run.model_raw, run.backend, run.mode) == ("org/model-1", "cuda", "single")
    assert (run.problem_id, run.problem_name, run.runtime_us) == (21, "21_Sigmoid.py", 250.0)
    assert run.started_at.isoformat() == "2025-01-02T03:04:05+00:00"
    (problem,) = found["problems"]
    assert problem.source_sha256 == run.reference_sha256
    assert run.submitted_kernel_sha256 in found.batch.kernels
    assert [m.kind for m in found["messages"]] == ["user", "assistant"]
    assert found.metrics(run)["candidate", "time.compile"] == 2.25
    assert found.metrics(run)["candidate", "runtime.max"] == 270.0


def test_without_a_manifest_the_folder_names_the_run(read, fixtures):
    path = fixtures / RUNS / "20250102_040506_raw_cuda_acme_org_model-1/kernel_3_3_Conv_v2_py/metrics.yaml"
    run = read(FORMAT, path).run()
    assert (run.model_raw, run.extra["model_from"], run.extra["provider"]) == ("org_model-1", "folder", "acme")
    assert (run.problem_name, run.compiled, run.runtime_us) == ("3_Conv_v2.py", False, None)
    assert run.extra["metadata"]["compilation_error"].startswith("ModelNew class not produced")


def test_a_manifest_alone(read, fixtures):
    found = read(FORMAT, fixtures / "kernelbench_v3/manifest_only/manifest.yaml")
    assert [(r.problem_name, r.correct, r.runtime_us, r.mode) for r in found["runs"]] == [
        ("1_A.py", False, None, "agentic"), ("2_B.py", True, 4000.0, "agentic"),
    ]
    assert found.codes() == {"type_dropped": 1}


def test_what_is_no_yaml_is_rejected(read, fixtures):
    found = read(FORMAT, fixtures / "kernelbench_v3/broken/kernel_1_1_A_py/metrics.yaml")
    assert (found.status, found.codes()) == ("rejected", {"not_yaml": 1})


@pytest.mark.parametrize("text", [
    "compiled: " + "[" * 3000, "- " * 3000, "compiled: !!python/object/apply:os.system [true]", "a: &a [*a]",
    "a: &a [1,1,1,1,1,1,1,1,1]\n" + "".join(
        f"{y}: &{y} [" + ",".join([f"*{x}"] * 9) + "]\n" for x, y in zip("abcdefgh", "bcdefghi", strict=True)
    ),
    "compiled: 2026-13-45 99:99:99", "compiled: .nan\nruntime_ms: .inf", "\x01", "\ufeffcompiled: true",
])
def test_hostile_yaml(read, tmp_path, text):
    path = tmp_path / "run" / "kernel_1_a" / "metrics.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    found = read(FORMAT, path)
    assert len(found["runs"]) <= 1


def test_never_raises(fuzz, fixtures):
    path = fixtures / RUNS / "20250102_030405_raw_cuda_acme_org_model-1/kernel_21_21_Sigmoid_py/metrics.yaml"
    fuzz(FORMAT, "run/kernel_21_x/metrics.yaml", yaml.safe_load(path.read_text()), yaml.safe_dump)
    path = fixtures / "kernelbench_v3/manifest_only/manifest.yaml"
    fuzz(FORMAT, "run/manifest.yaml", yaml.safe_load(path.read_text()), yaml.safe_dump, examples=30)


@pytest.mark.real
def test_real(read, claimed, real):
    files = claimed(FORMAT, real)
    assert set(files) == set((real / "kernelbench_v3").rglob("metrics.yaml"))
    runs = [read(FORMAT, p).run() for p in files]
    assert len({r.run_id for r in runs}) == len(files) == 30
    for run, path in zip(runs, files, strict=True):
        raw = yaml.safe_load(path.read_text())
        assert (run.compiled, run.correct) == (raw["compiled"], raw["correctness"])
        assert path.parent.name.startswith(f"kernel_{run.problem_id}_")
