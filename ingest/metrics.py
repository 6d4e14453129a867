"""Measured numbers by declaration: where a source keeps one, what it is called, in which unit.

A sentinel ("not measured" written as -1 or 0) never becomes a row. Units of the KernelBench family:
whatever a label says, runtimes are milliseconds; profilers' `*_us` are microseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from kbstats.ingest.rows import Metric

CANDIDATE, REFERENCE, RATIO = "candidate", "reference", "ratio"
MS_TO_US = 1000.0


def measured(value: float) -> bool:
    """A duration, a size or a count: neither 0 nor less can have been measured."""
    return value > 0


def known(value: float) -> bool:
    """A value for which 0 is a value and -1 says "not measured"."""
    return value >= 0


class Place(NamedTuple):
    """Where in a run a number belongs: the final result has neither turn nor call."""

    run_id: str
    turn: int | None = None
    seq: int | None = None


class Spec(NamedTuple):
    """One number: its key in the source, and its row in `metrics`."""

    key: str
    name: str
    unit: str
    subject: str = CANDIDATE
    source: str = "harness"
    scale: float = 1.0
    keep: Callable[[float], bool] = known


def _times(subject: str) -> tuple[Spec, ...]:
    """Runtime statistics: milliseconds in the source. A spread of 0 is a value, a mean of 0 is none."""
    return (
        Spec("mean", "runtime.mean", "us", subject, scale=MS_TO_US, keep=measured),
        Spec("median", "runtime.median", "us", subject, scale=MS_TO_US, keep=measured),
        Spec("std", "runtime.std", "us", subject, scale=MS_TO_US),
        Spec("min", "runtime.min", "us", subject, scale=MS_TO_US, keep=measured),
        Spec("max", "runtime.max", "us", subject, scale=MS_TO_US, keep=measured),
        Spec("num_trials", "runtime.trials", "count", subject, keep=measured),
    )


_PROFILE = (
    Spec("dram_utilization_pct", "dram.utilization", "pct"),
    Spec("compute_utilization_pct", "compute.utilization", "pct"),
    Spec("dominant_utilization_pct", "dominant_pipe.utilization", "pct"),
    Spec("occupancy_pct", "occupancy", "pct"),
    Spec("dram_bandwidth_gbs", "dram.bandwidth", "gb_per_s"),
    Spec("dram_read_gbs", "dram.read_bandwidth", "gb_per_s"),
    Spec("dram_write_gbs", "dram.write_bandwidth", "gb_per_s"),
    Spec("l1_hit_rate_pct", "l1.hit_rate", "pct"),
    Spec("l2_hit_rate_pct", "l2.hit_rate", "pct"),
    Spec("ld_sectors_per_request", "load.sectors_per_request", "ratio"),
    Spec("st_sectors_per_request", "store.sectors_per_request", "ratio"),
    Spec("eligible_warps_per_cycle", "eligible_warps", "ratio"),
    Spec("registers_per_thread", "registers_per_thread", "count", keep=measured),
    Spec("shared_mem_per_block", "shared_memory_per_block", "bytes"),
    Spec("block_size", "block_size", "count", keep=measured),
    Spec("grid_size", "grid_size", "count", keep=measured),
    Spec("gpu_time_us", "gpu_time", "us", keep=measured),
    Spec("arithmetic_intensity", "arithmetic_intensity", "flop_per_byte", keep=measured),
    Spec("ridge_point", "ridge_point", "flop_per_byte", keep=measured),
    Spec("peak_bw_gbs", "peak.bandwidth", "gb_per_s", keep=measured),
    Spec("peak_fp32_tflops", "peak.fp32", "tflop_per_s", keep=measured),
    Spec("peak_fp16_tflops", "peak.fp16", "tflop_per_s", keep=measured),
)
"""What a profiler's summary holds; its source says which profiler."""

GROUPS: dict[str, tuple[Spec, ...]] = {
    "runtime_stats": _times(CANDIDATE),
    "ref_runtime_stats": _times(REFERENCE),
    "memory_stats": (
        Spec("peak_memory_bytes", "memory.peak", "bytes", keep=measured),
        Spec("ref_peak_memory_bytes", "memory.peak", "bytes", REFERENCE, keep=measured),
        # only where the exact figure is missing: see `_ALTERNATIVES`
        Spec("peak_memory_mb", "memory.peak", "bytes", scale=float(1 << 20), keep=measured),
        Spec("ref_peak_memory_mb", "memory.peak", "bytes", REFERENCE, scale=float(1 << 20), keep=measured),
        Spec("memory_ratio", "memory.ratio", "ratio", RATIO, keep=measured),
    ),
    "numerical_precision": (
        Spec("max_abs_error", "error.max_abs", "abs"),
        Spec("mean_abs_error", "error.mean_abs", "abs"),
        Spec("max_rel_error", "error.max_rel", "ratio"),
        Spec("mean_rel_error", "error.mean_rel", "ratio"),
    ),
    "kernel_launch_stats": (
        Spec("num_kernels", "kernels.launched", "count", source="torch.profiler"),
        Spec("ref_num_kernels", "kernels.launched", "count", REFERENCE, "torch.profiler"),
        Spec("fusion_ratio", "fusion", "ratio", RATIO, "torch.profiler", keep=measured),
        Spec("total_cuda_time_us", "cuda_time.total", "us", source="torch.profiler", keep=measured),
        Spec("ref_total_cuda_time_us", "cuda_time.total", "us", REFERENCE, "torch.profiler", keep=measured),
    ),
    "energy_stats": (
        # 0.0: the run was shorter than one tick of the driver's power counter
        Spec("energy_per_run_mj", "energy.per_run", "mj", source="nvml", keep=measured),
        Spec("ref_energy_per_run_mj", "energy.per_run", "mj", REFERENCE, "nvml", keep=measured),
        Spec("energy_ratio", "energy.ratio", "ratio", RATIO, "nvml", keep=measured),
        Spec("avg_power_w", "power.mean", "w", source="nvml", keep=measured),
        Spec("ref_avg_power_w", "power.mean", "w", REFERENCE, "nvml", keep=measured),
    ),
    "sol_stats": (Spec("sol_score", "sol.score", "ratio"), *_PROFILE),
    "roofline_stats": _PROFILE,
}
"""Groups of a KernelExecResult, by their key."""

_SOURCES = {
    "nsight_hardware_counters": "nsight",
    "nsight": "nsight",
    "heuristic": "heuristic",
    "heuristic_from_speedup": "heuristic",
}
_TELLING = frozenset({"energy.per_run", "power.mean"})
_ALTERNATIVES = {"peak_memory_mb": "peak_memory_bytes", "ref_peak_memory_mb": "ref_peak_memory_bytes"}


def number(value: Any) -> float | None:
    """A finite number, also when it is written as a text; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        out = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return out if math.isfinite(out) else None


def positive(value: Any, scale: float = 1.0) -> float | None:
    """A number above 0, scaled; None for a sentinel."""
    out = number(value)
    return out * scale if out is not None and out > 0 else None


def zero_of(name: str, value: float) -> str | None:
    """Name of the row that stands for a zero which is no value of `name`, or None where it needs none.

    A GPU that ran drew power: a meter that says 0 did not tick, which the audit tells of. Its 0 is no
    measurement and is no row of `name`; `<name>.zero` holds 1, the number of such readings.
    """
    return f"{name}.zero" if value == 0 and name in _TELLING else None


def rows(
    run_id: str, result: Mapping[str, Any], *, turn: int | None = None, seq: int | None = None
) -> Iterator[Metric]:
    """The metrics of a KernelExecResult, of a tool's metadata, or of anything with the same groups."""
    if GROUPS.keys().isdisjoint(result):
        return
    for group, specs in GROUPS.items():
        found = result.get(group)
        if isinstance(found, Mapping) and found:
            yield from _group(Place(run_id, turn, seq), group, found, specs)


def profile_rows(run_id: str, metadata: Mapping[str, Any], *, turn: int, seq: int) -> Iterator[Metric]:
    """The metrics of a profiler tool's metadata: summary keys, and the raw counters below."""
    raw = metadata.get("raw_metrics_ref")
    flat = {**(raw if isinstance(raw, Mapping) else {}), **metadata}
    yield from _emit(Place(run_id, turn, seq), flat, _PROFILE, "nsight")
    yield from _stalls(Place(run_id, turn, seq), flat, "nsight")


def _group(
    at: Place, group: str, found: Mapping[str, Any], specs: Iterable[Spec]
) -> Iterator[Metric]:
    tells = group in {"sol_stats", "roofline_stats"}
    source = _SOURCES.get(str(found.get("source")), "harness") if tells else None
    if group == "roofline_stats" and source == "harness" and "sm_count" in found:
        source = "heuristic"
    # both groups repeat the profiler's summary: what sol_stats and roofline_stats share comes once
    if group == "sol_stats":
        specs = [s for s in specs if s.name == "sol.score"] if source != "nsight" else specs
    yield from _emit(at, found, specs, source)
    if group == "roofline_stats":
        yield from _stalls(at, found, source or "nsight")


def _emit(
    at: Place, found: Mapping[str, Any], specs: Iterable[Spec], source: str | None
) -> Iterator[Metric]:
    for spec in specs:
        value = number(found.get(spec.key))
        if value is None:
            continue
        name, unit = spec.name, spec.unit
        if not spec.keep(value):
            zero = zero_of(name, value)
            if zero is None:
                continue
            name, unit, value = zero, "count", 1.0
        if (exact := _ALTERNATIVES.get(spec.key)) and positive(found.get(exact)):
            continue
        yield Metric(
            run_id=at.run_id,
            turn=at.turn,
            seq=at.seq,
            subject=spec.subject,
            name=name,
            value=value * spec.scale,
            unit=unit,
            source=source or spec.source,
        )


def _stalls(at: Place, found: Mapping[str, Any], source: str) -> Iterator[Metric]:
    stalls = found.get("warp_stalls")
    for reason, share in stalls.items() if isinstance(stalls, Mapping) else ():
        value = number(share)
        if value is not None and value >= 0:
            yield Metric(
                run_id=at.run_id,
                turn=at.turn,
                seq=at.seq,
                subject=CANDIDATE,
                name=f"warp_stall.{reason}",
                value=value,
                unit="pct",
                source=source,
            )


def once(found: Iterable[Metric]) -> list[Metric]:
    """Each (turn, seq, subject, name, source) once, the first one: two groups may repeat a number."""
    seen: dict[tuple[Any, ...], Metric] = {}
    for m in found:
        seen.setdefault((m.turn, m.seq, m.subject, m.name, m.source), m)
    return list(seen.values())
