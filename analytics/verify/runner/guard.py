"""Watching the functions that a harness measures and compares with.

Evidence against oneself only: a candidate can hide a patch from this, but then gains nothing, because
the clock that counts is the supervisor's and the bytes are judged in another process.
"""

from __future__ import annotations

import time
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

_before: list[Any] = []


def remember() -> None:
    """Note what the watched names are bound to, before any candidate code runs."""
    _before[:] = [getattr(owner, name, None) for _, owner, name in WATCHED]


def tampered() -> str:
    """Return the names bound to something else now, joined by commas; empty when none."""
    return ",".join(
        label
        for (label, owner, name), old in zip(WATCHED, _before, strict=True)
        if getattr(owner, name, None) is not old
    )
