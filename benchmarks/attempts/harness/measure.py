"""Measures a pair of modules on a GPU: time, memory, launches, energy.

As simple as the harnesses of this family are: event pairs around a call, one
input for all trials, nothing done about caches. Times are milliseconds.
"""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

WARMUP = 10
PROFILED_CALLS = 10
ENERGY_S = 0.6


def rounded(value: float) -> float:
    """Three significant figures, as these harnesses store their times."""
    return float(f"{value:.3g}")


def time_ms(module: torch.nn.Module, inputs: list[Any], trials: int) -> list[float]:
    """Milliseconds of each of `trials` calls after a warm-up, by CUDA events."""
    with torch.no_grad():
        for _ in range(WARMUP):
            module(*inputs)
        torch.cuda.synchronize()
        times = []
        for _ in range(trials):
            start = torch.cuda.Event(enable_timing=True)
            end = torch.cuda.Event(enable_timing=True)
            start.record()
            module(*inputs)
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end))
    return times


def runtime_stats(times: list[float], hardware: str, device: str) -> dict[str, Any]:
    """Mean, standard deviation and range in the family's form (no median in it)."""
    return {
        "mean": rounded(statistics.fmean(times)),
        "std": rounded(statistics.stdev(times)),
        "min": rounded(min(times)),
        "max": rounded(max(times)),
        "num_trials": len(times),
        "hardware": hardware,
        "device": device,
    }


def peak_bytes(module: torch.nn.Module, inputs: list[Any]) -> int:
    """Peak of allocated device memory during one call."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    with torch.no_grad():
        output = module(*inputs)
    torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated()
    del output
    return peak


def launches(module: torch.nn.Module, inputs: list[Any]) -> dict[str, Any]:
    """Kernels of one call by torch.profiler: count, total time, names (microseconds)."""
    from torch.autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    with torch.no_grad():
        module(*inputs)
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
            for _ in range(PROFILED_CALLS):
                module(*inputs)
            torch.cuda.synchronize()
    total, count, by_name = 0.0, 0, {}
    for event in prof.events():
        if event.device_type != DeviceType.CUDA:
            continue
        duration = event.time_range.elapsed_us()
        total += duration
        count += 1
        entry = by_name.setdefault(event.name[:120], [0.0, 0])
        entry[0] += duration
        entry[1] += 1
    ranked = sorted(by_name.items(), key=lambda item: -item[1][0])[:8]
    return {
        "num_kernels": round(count / PROFILED_CALLS),
        "total_cuda_time_us": round(total / PROFILED_CALLS, 3),
        "kernel_breakdown": [
            {
                "name": name,
                "cuda_time_us": round(spent / PROFILED_CALLS, 3),
                "calls": max(1, round(calls / PROFILED_CALLS)),
            }
            for name, (spent, calls) in ranked
        ],
    }


def energy(module: torch.nn.Module, inputs: list[Any]) -> tuple[float, float] | None:
    """Millijoules a call and mean watts by the board's own counter, None without it."""
    try:
        import pynvml

        pynvml.nvmlInit()
        board = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
        pynvml.nvmlDeviceGetTotalEnergyConsumption(board)
    except Exception:  # noqa: BLE001 - no NVML, no counter, no permission: not measured
        return None
    calls = 0
    with torch.no_grad():
        module(*inputs)
        torch.cuda.synchronize()
        before, started = pynvml.nvmlDeviceGetTotalEnergyConsumption(board), time.monotonic()
        while time.monotonic() - started < ENERGY_S:
            for _ in range(50):
                module(*inputs)
            calls += 50
            torch.cuda.synchronize()
        spent = pynvml.nvmlDeviceGetTotalEnergyConsumption(board) - before
        elapsed = time.monotonic() - started
    return round(spent / calls, 4), round(spent / 1000 / elapsed, 1)


def machine() -> dict[str, Any]:
    """Versions and device of this machine, read from itself (no host name)."""
    found: dict[str, Any] = {"torch": torch.__version__, "cuda": torch.version.cuda}
    try:
        import triton

        found["triton"] = triton.__version__
    except ImportError:
        found["triton"] = None
    if torch.cuda.is_available():
        props = torch.cuda.get_device_properties(0)
        found |= {
            "gpu": props.name,
            "sm_count": props.multi_processor_count,
            "total_memory_bytes": props.total_memory,
            "compute_capability": f"{props.major}.{props.minor}",
        }
        try:
            import pynvml

            pynvml.nvmlInit()
            found["driver"] = pynvml.nvmlSystemGetDriverVersion()
            board = pynvml.nvmlDeviceGetHandleByIndex(0)
            found["power_limit_w"] = pynvml.nvmlDeviceGetEnforcedPowerLimit(board) / 1000
        except Exception:  # noqa: BLE001 - left out when it cannot be read
            found.setdefault("driver", None)
    return found
