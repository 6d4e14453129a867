"""The tools a policy can call, and the words their results are told in.

The shapes are the family's: `{tool} PASSED: …` or `{tool} FAILED: …`, runtimes
that are milliseconds under a label of microseconds, time-outs told as a kernel
that did not compile.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from . import evaluate, measure, static
from .isolate import run_isolated

TEXT_LIMIT = 6000


@dataclass(frozen=True)
class Call:
    """Result of one tool call: what the policy reads, and what the harness keeps."""

    text: str
    ok: bool
    metadata: dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """Where and how the tools run.

    Attributes:
        job: Template of the evaluation; kernel, kind and folder are filled in per call.
        root: Folder of the run's builds.
        gpus: The project's `gpus.toml`.
        backend: `triton` or `cuda`, for the static check; `forbidden` names what it refuses beside.
        limit_s: Seconds a call may take; `grace_s` between SIGTERM and SIGKILL.
    """

    job: evaluate.Job
    root: Path
    gpus: Path
    backend: str
    limit_s: float
    grace_s: float = 2.0
    forbidden: tuple[str, ...] = ()


def scrub(text: str, root: Path) -> str:
    """Takes the recording machine's own paths out of a text."""
    import torch

    site = str(Path(torch.__file__).parent.parent)
    # ninja names the compilers that the environment does, wherever they lie.
    compilers = (shutil.which("g++"), os.environ.get("CC"), os.environ.get("CXX"))
    for path, name in (
        *((str(Path(compiler).parent), "/usr/bin") for compiler in compilers if compiler),
        (str(root), "/tmp/suite"),
        (site, "/opt/venv/lib/python3/site-packages"),
        (sysconfig.get_paths()["include"], "/usr/include/python3"),
        (sysconfig.get_paths()["stdlib"], "/usr/lib/python3"),
        (str(Path(__file__).parent), "/tmp/suite/harness"),
        (sys.prefix, "/opt/venv"),
        (sys.base_prefix, "/usr"),
        (str(Path.home()), "/home/user"),
    ):
        if len(path) > 4:
            text = text.replace(path, name)
    return text


def scrubbed(value: Any, root: Path) -> Any:
    """`scrub` through a JSON value."""
    if isinstance(value, str):
        return scrub(value, root)
    if isinstance(value, list):
        return [scrubbed(v, root) for v in value]
    if isinstance(value, dict):
        return {k: scrubbed(v, root) for k, v in value.items()}
    return value


def _issues(meta: dict[str, Any]) -> str:
    keys = (
        "correctness_issue",
        "bool_mismatch_count",
        "runtime_error",
        "error_during_performance",
        "max_difference",
        "avg_difference",
    )
    return "".join(f"\n{key}: {meta[key]}" for key in keys if key in meta)


def _precision(result: dict[str, Any]) -> str:
    p = result["numerical_precision"]
    if not p:
        return ""
    return (
        f"\nNumerical precision: max_abs_err={p['max_abs_error']:.2e}  "
        f"mean_abs_err={p['mean_abs_error']:.2e}  max_rel_err={p['max_rel_error']:.2e}"
    )


def _compile_text(result: dict[str, Any]) -> Call:
    if result["compiled"]:
        return Call("compile_kernel PASSED: kernel compiled without errors.", True, {"compiled": True})
    meta = result["metadata"]
    error = meta["compilation_error"]
    if error.startswith(evaluate.SYNTAX):
        detail = error.partition("\n")[2]
        head = "compile_kernel FAILED: ModelNew class not found or syntax error prevented execution."
        text = f"{head}\n{detail}"
        return Call(text, False, {"compiled": False, "error": "ModelNew not found"})
    name = meta["compilation_error_name"].rpartition(".")[2]
    text = f"compile_kernel FAILED: {name}.\n{name}: {error}"
    return Call(text[:TEXT_LIMIT], False, {"compiled": False, "error": error[:TEXT_LIMIT]})


def _correctness_text(result: dict[str, Any]) -> Call:
    meta = result["metadata"]
    flags = {"compiled": result["compiled"], "correctness": result["correctness"]}
    if not result["compiled"]:
        text = f"run_correctness FAILED: kernel did not compile.\n{meta['compilation_error']}"
        return Call(text[:TEXT_LIMIT], False, flags)
    trials = meta.get("correctness_trials", "?")
    if not result["correctness"]:
        text = f"run_correctness FAILED: {trials} trials did not all match.{_issues(meta)}"
        return Call(text, False, flags | {"metadata": meta})
    text = f"run_correctness PASSED: {trials} trials all matched the reference.{_precision(result)}"
    return Call(text, True, flags | {"numerical_precision": result["numerical_precision"]})


def _submit_text(result: dict[str, Any]) -> Call:
    meta = result["metadata"]
    if not result["compiled"]:
        text = f"submit_kernel FAILED: kernel did not compile.\n{meta['compilation_error']}"
        return Call(text[:TEXT_LIMIT], False, result)
    trials = meta.get("correctness_trials", "?")
    if "error_during_performance" in meta:
        return Call(f"submit_kernel FAILED: timing did not finish.{_issues(meta)}", False, result)
    if not result["correctness"]:
        text = f"submit_kernel FAILED: correctness check did not pass ({trials} trials).{_issues(meta)}"
        return Call(text, False, result)
    lines = [f"submit_kernel PASSED: {trials} correctness trials all passed."]
    if result["runtime"] > 0:
        stats, memory, kernels = (result[k] for k in ("runtime_stats", "memory_stats", "kernel_launch_stats"))
        lines += [
            f"Kernel runtime: {result['runtime']:.2f} μs",
            f"Runtime stats: mean={stats['mean']:.2f}μs  median=?μs  std={stats['std']:.2f}μs",
            _precision(result).lstrip("\n"),
            f"Memory: {memory['peak_memory_mb']} MB peak (ref: {memory['ref_peak_memory_mb']} MB, "
            f"ratio: {memory['memory_ratio']}x)",
            f"Kernel launches: {kernels['num_kernels']} (ref: {kernels['ref_num_kernels']}, "
            f"fusion ratio: {kernels['fusion_ratio']})",
        ]
        if result["energy_stats"]:
            drawn = result["energy_stats"]
            lines.append(
                f"Energy: {drawn['energy_per_run_mj']} mJ/run (ref: {drawn['ref_energy_per_run_mj']} mJ/run)"
            )
        lines.append(f"SOL score: {result['sol_stats']['sol_score']}")
        if meta.get("excessive_speedup"):
            lines.append(
                f"Flagged for excessive speedup — {result['ref_runtime'] / result['runtime']:.1f}x "
                f"is above the {evaluate.EXCESSIVE:.0f}x threshold"
            )
    return Call("\n".join(lines), True, result)


def _profile_text(result: dict[str, Any]) -> Call:
    if not result["compiled"]:
        error = result["metadata"]["compilation_error"]
        return Call(f"profile_kernel FAILED: {error}"[:TEXT_LIMIT], False, {})
    if "runtime_error" in result["metadata"]:
        return Call(f"profile_kernel FAILED: {result['metadata']['runtime_error']}", False, {})
    stats = result["kernel_launch_stats"]
    lines = [
        "profile_kernel PASSED: profiling complete.",
        "",
        "===== Input: canonical ref =====",
        "=== Kernel Profile Summary === (torch.profiler; no hardware counters)",
        "--- Kernel Breakdown (by GPU time) ---",
    ]
    total = stats.get("total_cuda_time_us", 0.0)
    for rank, kernel in enumerate(stats.get("kernel_breakdown", []), 1):
        share = 100 * kernel["cuda_time_us"] / total if total else 0.0
        spent, calls = kernel["cuda_time_us"], kernel["calls"]
        lines.append(f"  #{rank}: {kernel['name']}  {spent}μs ({share:.0f}%) calls={calls}")
    lines += ["--- Timing ---", f"GPU time: {total} μs"]
    metrics = {"source": "torch.profiler", "gpu_time_us": total, "num_kernels": stats.get("num_kernels", -1)}
    return Call("\n".join(lines), True, {"raw_metrics_ref": metrics})


TELL: dict[str, tuple[str, Callable[[dict[str, Any]], Call]]] = {
    "compile_kernel": ("compile", _compile_text),
    "run_correctness": ("correctness", _correctness_text),
    "profile_kernel": ("profile", _profile_text),
    "submit_kernel": ("submit", _submit_text),
}


def _timed_out(tool: str, kind: str, bench: Bench) -> Call:
    """A call that was ended at its limit, in the words this family has for it."""
    limit, grace = f"{bench.limit_s:.0f}", f"{bench.grace_s:.0f}"
    if tool != "submit_kernel":
        text = f"{kind}_kernel FAILED: eval server did not respond within {limit}s"
        return Call(text, False, {"error": "eval_rpc_timeout"})
    message = (
        f"torchrun eval timed out after {limit}s (world_size=1); "
        f"sent SIGTERM then SIGKILL after {grace}s grace"
    )
    result = evaluate.blank()
    result["metadata"] = {
        "error": "torchrun_timeout",
        "compilation_error": message,
        "timeout_shutdown_grace_s": bench.grace_s,
    }
    return Call(f"submit_kernel FAILED: kernel did not compile.\n{message}", False, result)


def gpu_specs(bench: Bench) -> Call:
    """What the device says of itself and what its data sheet says of it."""
    found = run_isolated(measure.machine, bench.root, 60, bench.grace_s).result or {}
    name = found.get("gpu", "cpu")
    lines = [f"GPU specs for {name}:"]
    if "total_memory_bytes" in found:
        lines.append(f"  total memory (runtime): {found['total_memory_bytes'] / 2**30:.1f} GB")
        lines.append(f"  multiprocessors (runtime): {found['sm_count']}")
    sheets = tomllib.loads(bench.gpus.read_text(encoding="utf-8")).get("gpu", [])
    sheet = next((s for s in sheets if name in s.get("match", [])), None)
    if sheet:
        skip = {"match", "source", "note"}
        lines += [f"  {key}: {value}" for key, value in sheet.items() if key not in skip]
    spec_key = sheet["name"] if sheet else None
    return Call("\n".join(lines), True, {"device_name": name, "spec_key": spec_key, "world_size": 1})


def call(tool: str, kernel: str, bench: Bench) -> Call:
    """Runs one tool on one kernel and tells what came of it."""
    if tool == "get_gpu_specs":
        return gpu_specs(bench)
    if tool == "static_check":
        errors, warnings = static.static_check(kernel, bench.backend, bench.forbidden)
        advice = "".join(f"\n  WARNING: {w}" for w in warnings)
        meta = {"valid": not errors, "errors": errors, "warnings": warnings}
        if errors:
            listed = "".join(f"\n  ERROR: {e}" for e in errors)
            text = f"static_check FAILED: strict violations found.{listed}"
            return Call(text + (f"\nAdvisory warnings:{advice}" if advice else ""), False, meta)
        head = "(with warnings):" if advice else ": no violations or warnings detected."
        return Call(f"static_check PASSED{' ' if advice else ''}{head}{advice}", True, meta)
    kind, tell = TELL[tool]
    # One build folder per kernel text, so that a second call finds the first one's build.
    folder = bench.root / f"k_{hashlib.sha1(kernel.encode()).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    job = replace(bench.job, kind=kind, kernel=kernel, folder=folder)
    child = run_isolated(lambda: evaluate.evaluate(job), folder, bench.limit_s, bench.grace_s)
    if child.timed_out:
        return _timed_out(tool, kind, bench)
    if child.result is None:
        tail = scrub(child.output, bench.root)[-800:]
        text = f"{tool} FAILED: unexpected error during tool execution.\nRuntimeError: worker died\n{tail}"
        return Call(text, False, {"unexpected_error": "worker died"})
    return tell(scrubbed(child.result, bench.root))
