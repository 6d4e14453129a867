"""Watching the functions that a harness measures and compares with.

Evidence against oneself only: a candidate can hide a patch from this, but then gains nothing, because
the clock that counts is the supervisor's and the bytes are judged in another process.
"""

from __future__ import annotations

import sys
import time
import types
from typing import Any

import torch

WATCHED = (
    ("time.perf_counter", time, "perf_counter"),
    ("time.perf_counter_ns", time, "perf_counter_ns"),
    ("time.time", time, "time"),
    ("time.monotonic", time, "monotonic"),
    ("torch.allclose", torch, "allclose"),
    ("torch.isclose", torch, "isclose"),
    ("torch.equal", torch, "equal"),
    ("torch.testing.assert_close", torch.testing, "assert_close"),
    ("torch.cuda.synchronize", torch.cuda, "synchronize"),
    ("torch.cuda.Event", torch.cuda, "Event"),
    ("torch.cuda.Event.elapsed_time", torch.cuda.Event, "elapsed_time"),
    ("torch.cuda.Event.record", torch.cuda.Event, "record"),
)

KEPT = ("CLOCK", "MOVE", "DRIVER")
"""Names of our modules that are bound to functions of other libraries."""

OF_TENSORS = ("mul_", "copy_", "zero_", "is_contiguous", "contiguous", "data_ptr", "detach", "clone", "sum", "stride")
"""Methods that stand around every timed call."""

_before: list[tuple[str, Any, str, Any]] = []


def remember() -> None:
    """Note what the watched names are bound to, before any candidate code runs; our own functions among them."""
    names = [*WATCHED, *((f"torch.Tensor.{name}", torch.Tensor, name) for name in OF_TENSORS), *_own()]
    _before[:] = [(label, owner, name, getattr(owner, name, None)) for label, owner, name in names]


def _own() -> list[tuple[str, Any, str]]:
    found: list[tuple[str, Any, str]] = []
    for package, module in list(sys.modules.items()):
        if not package.startswith(f"{__package__}."):
            continue
        owners: list[Any] = [
            module,
            *(c for c in vars(module).values() if isinstance(c, type) and c.__module__ == package),
        ]
        found += [
            (f"{owner.__name__.rpartition('.')[2]}.{name}", owner, name)
            for owner in owners
            for name, value in vars(owner).items()
            if (isinstance(value, types.FunctionType) and value.__module__ == package) or name in KEPT
        ]
    return found


def tampered() -> str:
    """Return the names bound to something else now, joined by commas; empty when none."""
    return ",".join(label for label, owner, name, old in _before if getattr(owner, name, None) is not old)
