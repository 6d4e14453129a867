"""What a pair of processes is asked beside eager times on a GPU: its kernels, and the modes that queue."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

from . import attribution, procs, wire
from .verdict import Refusal

if TYPE_CHECKING:
    from .challenge import Side
    from .pairs import Pair
    from .timing import Timer

EXTRA_COUNT = 18
"""Slots of a block in the other modes."""

HOLD_S = 150e-6
"""How long the GPU is held, beside twice a call's time, while the host queues the call."""


def finish(timer: Timer, sides: dict[str, Side], pair: Pair, since: float) -> Pair | Refusal:
    """Time the other modes, and note in what state the GPU was."""
    _profile(timer, sides["cand"])
    refused = _others(timer, sides, pair)
    if refused:
        return refused
    monitor = timer.v.session.monitor
    pair.clocks = {at: monitor.clock(spans) for at, spans in pair.spans.items()}
    pair.slowed = monitor.slowed(since)
    strangers = monitor.foreign()
    if strangers:
        return Refusal("UNVERIFIABLE", "busy_gpu", "timed", {"processes": strangers[:8]}, "unknown")
    return pair


def _profile(timer: Timer, side: Side) -> None:
    """List the candidate's kernels, once; where the profiler does not work there is no list."""
    if timer.profiled or timer.base.name != "eager":
        return
    timer.profiled = True
    room = min(1 << 15, timer.v.files.layout.times_at)
    with contextlib.suppress(wire.ForgedReplyError, procs.WorkerDiedError, procs.WorkerTimeoutError):
        if side.profile(timer.args, room, timer.v.limits.first_call_s).status == wire.OK:
            raw = os.pread(timer.v.files.fds["cand_out"], room, 0)
            text = raw.partition(b"\0")[0].decode("utf-8", "replace")
            timer.kernels = attribution.read(text, timer.v.item.kernel)


def _others(timer: Timer, sides: dict[str, Side], pair: Pair) -> Refusal | None:
    """Time the modes beside the first. A mode that a model does not stand is left out, with the reason."""
    times = [pair.median("ref"), pair.median("cand")]
    hold = HOLD_S + 2.0 * min(max(times), 5e-3)
    for mode in ("busy", "graph"):
        if mode in timer.missing:
            continue
        pair.modes[mode] = {"ref": [], "cand": []}
        count, timer.count = timer.count, min(timer.count, EXTRA_COUNT)
        try:
            for names in (["ref", "cand"], ["cand", "ref"]):
                refused = timer.block(
                    sides, names, pair, timer.v.limits.first_call_s, mode=mode, hold_s=hold, quiet=True
                )
                if refused and mode == "busy" and refused.word in {"INCORRECT", "HACK"}:
                    return refused
                if refused:
                    witness = refused.witness or {}
                    timer.missing[mode] = f"{refused.verdict}: {witness.get('error') or witness.get('what') or ''}"
                    del pair.modes[mode]
                    return None
        finally:
            timer.count = count
    return None
