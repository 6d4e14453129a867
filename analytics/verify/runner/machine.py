"""What a result was measured on."""

from __future__ import annotations

import os
import platform
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence


LEAST_CACHE = 64 << 20
"""Bytes that a processor's last cache is taken to hold at least: where it says nothing, or too little."""


def cpu_model() -> str:
    """Return the processor's name as the kernel gives it."""
    for line in _read("/proc/cpuinfo").splitlines():
        if line.lower().startswith(("model name", "hardware")):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def driver() -> str | None:
    """Return the NVIDIA driver's version, None without one."""
    text = _read("/proc/driver/nvidia/version")
    words = text.split("\n", 1)[0].split()
    return next((w for w in words if w.count(".") >= 1 and w.replace(".", "").isdigit()), None)


def quick_cores(count: int = 3) -> list[int]:
    """Return the cores on which a short loop runs fastest now, none on a machine of fewer than eight.

    Launch overhead is the host's work, and cores of one machine were seen to differ by a factor of two.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 8:
        return []
    took = {}
    try:
        for core in cores:
            os.sched_setaffinity(0, {core})
            took[core] = sorted(_loop() for _ in range(7))[3]
    finally:
        os.sched_setaffinity(0, cores)
    return sorted(cores, key=lambda c: took[c])[:count]


def other_cores(reserved: Sequence[int]) -> list[int]:
    """Return the cores that builds may use: all but those on which sides are measured."""
    return sorted(os.sched_getaffinity(0) - {each for core in reserved for each in siblings(core)})


def siblings(core: int) -> set[int]:
    """Return a core and those that are the same one to the hardware."""
    found = {core}
    for part in _read(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list").strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            found |= set(range(int(first), int(last or first) + 1))
    return found


def _loop() -> float:
    start = time.perf_counter()
    for _ in range(20_000):
        pass
    return time.perf_counter() - start


def _level3() -> int:
    return os.sysconf("SC_LEVEL3_CACHE_SIZE") if "SC_LEVEL3_CACHE_SIZE" in os.sysconf_names else 0


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def describe(device: str) -> dict[str, Any]:
    """Return the machine as the document stores it. Runs in a worker, because it may touch CUDA.

    Raises:
        RuntimeError: if a CUDA device is asked for and there is none.
    """
    import torch

    found: dict[str, Any] = {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "cache_bytes": max(LEAST_CACHE, _level3()),
        "cuda": torch.version.cuda,
        "driver": driver(),
        "gpu": None,
        "platform": f"{sys.platform} {platform.machine()}",
    }
    if device.startswith("cuda"):
        if not torch.cuda.is_available():
            raise RuntimeError("torch finds no CUDA device here; use --device cpu, or install torch with CUDA")
        props = torch.cuda.get_device_properties(device)
        found.update(
            gpu=props.name,
            gpu_memory_bytes=props.total_memory,
            multiprocessors=props.multi_processor_count,
            capability=f"{props.major}.{props.minor}",
            l2_bytes=getattr(props, "L2_cache_size", None),
        )
    return found


def identity(machine: dict[str, Any]) -> str:
    """Return the part of a machine that a result depends on, for the key of a result."""
    return "|".join(str(machine.get(k)) for k in ("gpu", "driver", "cpu", "cores", "torch", "python"))
