"""What a pair of processes is asked beside eager times on a GPU: its kernels, and the modes that queue."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from . import attribution, pairs, procs, wire
from .verdict import Refusal

if TYPE_CHECKING:
    from .pairs import Pair
    from .side import Side
    from .timing import Timer

LISTED_S = 1.0
"""How long the driver may list a process that has ended."""

HOLDS = (1.0, 2.0, 4.0)
"""A hold that ends before the host has queued the call is tried again this many times longer."""

ALONE_ROUNDS = 2
"""Rounds in which the reference is timed once more when the candidate is gone."""

HOLD_S = 150e-6
"""How long the GPU is held, beside twice a call's time, while the host queues the call."""


def finish(timer: Timer, sides: dict[str, Side], pair: Pair, since: float) -> Pair | Refusal:
    """Time the other modes, and note in what state the GPU was."""
    before = len(timer.missing)
    refused = _others(timer, sides, pair)
    if refused is None and len(timer.missing) == before:
        # Not behind a capture that failed: what it leaves in a process is unknown. And the profiler last, since
        # what it attaches to a process slows its later launches.
        refused = _profile(timer, sides["cand"]) or _alone(timer, sides, pair)
    if refused:
        return refused
    monitor = timer.v.session.monitor
    pair.clocks = {at: monitor.clock(spans) for at, spans in pair.spans.items()}
    pair.slowed = monitor.slowed(since)
    strangers = monitor.foreign()
    if strangers:
        # A worker of another kernel that was ended a moment ago is still listed.
        time.sleep(LISTED_S)
        strangers = sorted(set(strangers) & set(monitor.foreign()))
    if strangers:
        return Refusal("UNVERIFIABLE", "busy_gpu", "timed", {"processes": strangers[:8]}, "unknown")
    return pair


def _profile(timer: Timer, side: Side) -> Refusal | None:
    """List the candidate's kernels, once; where the profiler does not work there is no list."""
    if timer.profiled or timer.base.name != "eager":
        return None
    timer.profiled = True
    room = min(1 << 15, timer.v.files.layout.times_at)
    try:
        if side.profile(timer.args, room, timer.v.limits.first_call_s).status == wire.OK:
            raw = os.pread(timer.v.files.fds["cand_out"], room, 0)
            text = raw.partition(b"\0")[0].decode("utf-8", "replace")
            timer.kernels = attribution.read(text, timer.v.item.kernel)
    except wire.ForgedReplyError:
        return None
    except (procs.WorkerDiedError, procs.WorkerTimeoutError) as error:
        # Else a kernel would end itself here and be spared all that follows from its kernels.
        return timer.lost(side, "cand", error)
    return None


def _alone(timer: Timer, sides: dict[str, Side], pair: Pair) -> Refusal | None:
    """Time the reference again without the candidate, which could have slowed it down from beside."""
    sides["cand"].worker.close()
    alone = pairs.Pair(by_round=True)
    for _ in range(2 * ALONE_ROUNDS):
        refused = timer.block({"ref": sides["ref"]}, ["ref"], alone, timer.v.limits.first_call_s)
        if refused:
            return refused
    pair.beside = pair.median("ref") / alone.median("ref")
    return None


def _others(timer: Timer, sides: dict[str, Side], pair: Pair) -> Refusal | None:
    """Time the modes beside the first. A mode that a model does not stand is left out, with the reason."""
    if timer.base.name != "eager":
        return None
    times = [pair.median("ref"), pair.median("cand")]
    hold = HOLD_S + 2.0 * min(max(times), 5e-3)
    order = list(sides)
    for mode in ("busy", "graph"):
        if mode in timer.missing:
            continue
        pair.modes[mode], pair.mode_outer[mode] = {n: [] for n in order}, {n: [] for n in order}
        for names in (order, order[::-1]):
            for more in HOLDS:
                refused = timer.block(
                    sides, names, pair, timer.v.limits.first_call_s, mode=mode, hold_s=more * hold, quiet=True
                )
                if refused is None or refused.kind != "late":
                    break
            if refused and mode == "busy" and refused.kind != "late":
                # Nothing is asked of a model there that it did not do in the first mode.
                return refused
            if refused:
                witness = refused.witness or {}
                reason = witness.get("error") or witness.get("what") or "another answer than without a graph"
                timer.missing[mode] = f"{refused.verdict}: {reason}"
                del pair.modes[mode]
                return None
    return None
