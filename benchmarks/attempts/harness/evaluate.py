"""One evaluation of one kernel, run inside the child process.

Returns the record that harnesses of this family keep of an evaluation
(`KernelExecResult`): times in milliseconds, -1.0 where nothing was measured,
lists of strings for the differences of failing trials.
"""

from __future__ import annotations

import contextlib
import math
import os
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import load, measure

SEED = 42
TOLERANCE = 1e-4
EXCESSIVE = 10.0
SYNTAX = "Syntax error in custom generated code or ModelNew not found"


@dataclass(frozen=True)
class Job:
    """What to evaluate and how far: `kind` is compile, correctness, profile or submit."""

    kind: str
    reference: str
    kernel: str
    folder: Path
    device: str = "cuda"
    trials: int = 5
    perf_trials: int = 100
    fixed_batch: bool = False
    sizes: dict[str, int] = field(default_factory=dict)


def type_name(error: BaseException) -> str:
    """`module.Class` of an exception, as upstream stores it."""
    return f"{type(error).__module__}.{type(error).__qualname__}"


def blank() -> dict[str, Any]:
    """A result with every key and nothing measured."""
    return {
        "compiled": False,
        "correctness": False,
        "metadata": {},
        "runtime": -1.0,
        "runtime_stats": {},
        "ref_runtime": -1.0,
        "ref_runtime_stats": {},
        "source_runtime": -1.0,
        "source_runtime_stats": {},
        "source_backend": None,
        "speedup_vs_source": -1.0,
        "memory_stats": {},
        "numerical_precision": {},
        "kernel_launch_stats": {},
        "sol_stats": {},
        "energy_stats": {},
        "roofline_stats": {},
    }


def _synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def _compile_failure(result: dict[str, Any], error: BaseException) -> dict[str, Any]:
    meta = result["metadata"]
    if isinstance(error, (SyntaxError, LookupError)):
        meta["compilation_error"] = f"{SYNTAX}\n{type(error).__name__}: {error}"
    else:
        meta["compilation_error"] = str(error)
    meta["compilation_error_name"] = type_name(error)
    return result


def _run_failure(result: dict[str, Any], error: BaseException, *, timing: bool) -> None:
    meta = result["metadata"]
    if timing:
        # Upstream's name for a crash after a check that passed.
        meta["error_during_performance"] = f"{type(error).__name__}: {error}"[:200]
        return
    meta["runtime_error"] = str(error)[:200]
    meta["runtime_error_name"] = type_name(error)
    meta["runtime_error_traceback"] = "".join(traceback.format_exception(error))[-4000:]


def _close(output: torch.Tensor, expected: torch.Tensor) -> bool:
    if expected.dtype == torch.bool:
        return torch.equal(output, expected)
    return torch.allclose(output, expected, rtol=TOLERANCE, atol=TOLERANCE)


def compare(expected: torch.Tensor, output: Any) -> dict[str, Any]:
    """Issue of one trial (None when it matched) and its differences."""
    if not isinstance(output, torch.Tensor):
        issue = f"Type mismatch: expected Tensor, got {type(output).__name__}"
        return {"issue": issue, "structural": True}
    if output.shape != expected.shape:
        detail = f"Expected {expected.shape}, got {output.shape}"
        return {"issue": f"Output shape mismatch: {{'shape_mismatch': '{detail}'}}", "structural": True}
    if output.dtype != expected.dtype:
        detail = f"Expected {expected.dtype}, got {output.dtype}"
        return {"issue": f"Output type mismatch: {{'type_mismatch': '{detail}'}}", "structural": True}
    difference = (output.double() - expected.double()).abs()
    counted = {"bools": int(difference.sum())} if expected.dtype == torch.bool else {}
    relative = difference / expected.double().abs().clamp_min(1e-8)
    return {
        "issue": None
        if _close(output, expected)
        else "Output mismatch",
        "structural": False,
        "max_abs_error": difference.max().item(),
        "mean_abs_error": difference.mean().item(),
        "max_rel_error": relative.max().item(),
        "mean_rel_error": relative.mean().item(),
        **counted,
    }


def _precision(trials: list[dict[str, Any]]) -> dict[str, float]:
    """Worst and mean errors over the trials; empty when one is not finite."""
    if not trials or any(not math.isfinite(t["max_abs_error"]) for t in trials):
        return {}
    n = len(trials)
    return {
        "max_abs_error": float(f"{max(t['max_abs_error'] for t in trials):.3g}"),
        "mean_abs_error": float(f"{sum(t['mean_abs_error'] for t in trials) / n:.3g}"),
        "max_rel_error": float(f"{max(t['max_rel_error'] for t in trials):.3g}"),
        "mean_rel_error": float(f"{sum(t['mean_rel_error'] for t in trials) / n:.3g}"),
    }


def check(job: Job, result: dict[str, Any], namespace: dict[str, Any], pair: tuple[Any, Any]) -> None:
    """Compares the two modules on fresh inputs, `job.trials` times."""
    reference, candidate = pair
    meta, done, passed, kept = result["metadata"], [], 0, []
    for trial in range(job.trials):
        load.seeded(SEED + trial)
        inputs = load.to_device(namespace["get_inputs"](), job.device)
        kept.append(inputs)
        with torch.no_grad():
            expected = reference(*inputs)
            _synchronize(job.device)
            output = candidate(*inputs)
            _synchronize(job.device)
        found = compare(expected, output)
        if found["structural"]:
            meta["correctness_issue"] = found["issue"]
            return
        done.append(found)
        passed += found["issue"] is None
        if found["issue"]:
            meta["correctness_issue"] = found["issue"]
            if "bools" in found:
                meta.setdefault("bool_mismatch_count", []).append(found["bools"])
                continue
            meta.setdefault("max_difference", []).append(f"{found['max_abs_error']:.6f}")
            meta.setdefault("avg_difference", []).append(f"{found['mean_abs_error']:.6f}")
    meta["correctness_trials"] = f"({passed} / {job.trials})"
    result["numerical_precision"] = _precision(done)
    result["correctness"] = passed == job.trials


def _times(job: Job, result: dict[str, Any], pair: tuple[Any, Any], inputs: list[Any]) -> None:
    reference, candidate = pair
    hardware, device = torch.cuda.get_device_name(0), "cuda:0"
    for key, module in (("runtime", candidate), ("ref_runtime", reference)):
        stats = measure.runtime_stats(measure.time_ms(module, inputs, job.perf_trials), hardware, device)
        result[key], result[f"{key}_stats"] = stats["mean"], stats
    speedup = result["ref_runtime"] / result["runtime"]
    if speedup > EXCESSIVE:
        result["metadata"]["excessive_speedup"] = True
    result["sol_stats"] = {
        "sol_score": round(min(speedup / 10, 1.0), 4),
        "source": "heuristic_from_speedup",
        "note": "min(speedup / 10, 1); no hardware counters were read",
        "hardware": hardware,
    }


def _resources(result: dict[str, Any], pair: tuple[Any, Any], inputs: list[Any]) -> None:
    reference, candidate = pair
    ours, theirs = measure.peak_bytes(candidate, inputs), measure.peak_bytes(reference, inputs)
    result["memory_stats"] = {
        "peak_memory_bytes": ours,
        "peak_memory_mb": round(ours / 2**20, 2),
        "ref_peak_memory_bytes": theirs,
        "ref_peak_memory_mb": round(theirs / 2**20, 2),
        "memory_ratio": round(ours / theirs, 4),
    }
    mine, ref = measure.launches(candidate, inputs), measure.launches(reference, inputs)
    count = mine["num_kernels"]
    result["kernel_launch_stats"] = {
        "num_kernels": count,
        "ref_num_kernels": ref["num_kernels"],
        "fusion_ratio": round(ref["num_kernels"] / count, 2) if count else 0.0,
        "kernel_breakdown": mine["kernel_breakdown"],
        "total_cuda_time_us": mine["total_cuda_time_us"],
        "ref_total_cuda_time_us": ref["total_cuda_time_us"],
    }
    drawn, ref_drawn = measure.energy(candidate, inputs), measure.energy(reference, inputs)
    if drawn and ref_drawn:
        result["energy_stats"] = {
            "energy_per_run_mj": drawn[0],
            "ref_energy_per_run_mj": ref_drawn[0],
            "energy_ratio": round(drawn[0] / ref_drawn[0], 4) if ref_drawn[0] else 0.0,
            "avg_power_w": drawn[1],
            "ref_avg_power_w": ref_drawn[1],
        }
    props = torch.cuda.get_device_properties(0)
    result["roofline_stats"] = {
        "source": "heuristic",
        "sm_count": props.multi_processor_count,
        "total_memory_gb": round(props.total_memory / 2**30, 1),
        "note": "device properties only; no hardware counters were read",
    }


def evaluate(job: Job) -> dict[str, Any]:
    """Loads, checks and (for `submit`) measures; `profile` adds only the launches."""
    os.chdir(job.folder)
    os.environ["TORCH_EXTENSIONS_DIR"] = str(job.folder / "extensions")
    os.environ["TRITON_CACHE_DIR"] = str(job.folder / "triton")
    result = blank()
    if job.device == "cuda":
        result["metadata"] = {"hardware": torch.cuda.get_device_name(0), "device": "cuda:0"}
    load.install_suite(job.device)
    namespace = load.load_reference(
        load.with_sizes(job.reference, job.sizes), load.PopcornPri(job.fixed_batch)
    )
    try:
        model_new = load.load_candidate(job.kernel, job.folder)
    except Exception as error:  # noqa: BLE001 - a candidate may raise anything
        return _compile_failure(result, error)
    result["compiled"] = True
    if job.kind == "compile":
        return result
    timing = False
    try:
        pair = []
        for make in (namespace["Model"], model_new):
            load.seeded(SEED)
            pair.append(make(*namespace["get_init_inputs"]()).to(job.device))
        modules = (pair[0], pair[1])
        if job.kind == "profile":
            inputs = load.to_device(namespace["get_inputs"](), job.device)
            if job.device == "cuda":
                result["kernel_launch_stats"] = measure.launches(modules[1], inputs)
            return result
        check(job, result, namespace, modules)
        if job.kind == "submit" and result["correctness"] and job.device == "cuda":
            timing = True
            load.seeded(SEED)
            inputs = load.to_device(namespace["get_inputs"](), job.device)
            _times(job, result, modules, inputs)
            _resources(result, modules, inputs)
    except Exception as error:  # noqa: BLE001 - a candidate may raise anything
        result["correctness"] = False
        _run_failure(result, error, timing=timing)
        with contextlib.suppress(KeyError):
            del result["metadata"]["correctness_trials"]
    return result
