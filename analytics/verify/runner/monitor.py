"""The GPU's state while it is measured: clocks, temperature, power, throttling, and who else is there.

Read by NVML, a library that comes with the driver, through ctypes: neither CUDA nor a package is needed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import stats

PERIOD_S = 0.05
SLOWDOWN = 0x08 | 0x40 | 0x80
"""Reasons by which the hardware slows itself down: slowdown, thermal, power brake."""

KEEP = 4000
"""Samples that are kept."""


class _Process(ctypes.Structure):
    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


@dataclass(frozen=True)
class Sample:
    """One reading; None where the driver does not say."""

    at: float
    sm_mhz: int | None
    memory_mhz: int | None
    celsius: int | None
    watts: float | None
    reasons: int


class Monitor:
    """A thread that reads the state of one GPU. Without NVML it stays silent."""

    def __init__(self, device: str) -> None:
        self.samples: list[Sample] = []
        self._stop = threading.Event()
        self._handle = ctypes.c_void_p()
        self._nvml = self._open(device)
        self._thread = threading.Thread(target=self._loop, daemon=True)
        if self._nvml is not None:
            self._thread.start()

    @property
    def working(self) -> bool:
        """Whether the GPU can be read."""
        return self._nvml is not None

    def _open(self, device: str) -> Any:
        if not device.startswith("cuda"):
            return None
        try:
            nvml = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return None
        index = int(device.partition(":")[2] or 0)
        visible = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        name = visible[index].strip() if index < len(visible) else ""
        if nvml.nvmlInit_v2():
            return None
        if name.startswith(("GPU-", "MIG-")):
            failed = nvml.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(self._handle))
        else:
            index = int(name) if all(v.strip().isdigit() for v in visible) and name else index
            failed = nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(self._handle))
        return None if failed else nvml

    def _number(self, name: str, *args: Any, kind: Any = ctypes.c_uint) -> int | None:
        value = kind()
        try:
            failed = getattr(self._nvml, name)(self._handle, *args, ctypes.byref(value))
        except AttributeError:
            return None
        return None if failed else int(value.value)

    def read(self) -> Sample:
        """Read the state now."""
        milliwatts = self._number("nvmlDeviceGetPowerUsage")
        return Sample(
            time.monotonic(),
            self._number("nvmlDeviceGetClockInfo", 1),
            self._number("nvmlDeviceGetClockInfo", 2),
            self._number("nvmlDeviceGetTemperature", 0),
            None if milliwatts is None else milliwatts / 1000,
            self._number("nvmlDeviceGetCurrentClocksThrottleReasons", kind=ctypes.c_ulonglong) or 0,
        )

    def _loop(self) -> None:
        while not self._stop.wait(PERIOD_S):
            self.samples.append(self.read())
            del self.samples[:-KEEP]

    def clock(self, spans: list[tuple[float, float]]) -> int | None:
        """Return the median SM clock in these stretches of time, None where nothing was read in them."""
        found = [s.sm_mhz for s in self.samples if s.sm_mhz and any(a <= s.at <= b for a, b in spans)]
        return int(stats.median([float(f) for f in found])) if found else None

    def slowed(self, since: float) -> bool:
        """Say whether the hardware slowed itself down since then."""
        return any(s.reasons & SLOWDOWN for s in self.samples if s.at >= since)

    def foreign(self) -> list[int]:
        """Return processes of this machine that use the GPU and do not descend from this one."""
        if self._nvml is None:
            return []
        count, found = ctypes.c_uint(64), (_Process * 64)()
        try:
            failed = self._nvml.nvmlDeviceGetComputeRunningProcesses_v3(self._handle, ctypes.byref(count), found)
        except AttributeError:
            return []
        if failed:
            return []
        return [p.pid for p in found[: count.value] if _stranger(p.pid)]

    def summary(self, since: float) -> dict[str, Any]:
        """Return the span of each reading since then, for the document."""
        seen = [s for s in self.samples if s.at >= since]
        found: dict[str, Any] = {"samples": len(seen), "throttle_reasons": 0}
        for name in ("sm_mhz", "memory_mhz", "celsius", "watts"):
            values = [v for s in seen if (v := getattr(s, name)) is not None]
            if values:
                found[name] = [min(values), max(values)]
        for s in seen:
            found["throttle_reasons"] |= s.reasons
        return found

    def close(self) -> None:
        """End the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2)


def _stranger(pid: int) -> bool:
    """Say whether a process that is seen here does not descend from this one."""
    here = os.getpid()
    for _ in range(64):
        if pid == here:
            return False
        if pid <= 1:
            return True
        parent = None
        with contextlib.suppress(OSError):
            for line in Path("/proc", str(pid), "status").read_text(encoding="utf-8").splitlines():
                if line.startswith("PPid:"):
                    parent = int(line.split()[1])
        if parent is None:
            # Gone, or of another namespace: nothing is known of it.
            return False
        pid = parent
    return False
