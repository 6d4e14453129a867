"""The loops that time calls inside a model worker, and the chain that ties each input to the answer before it.

Before call i some elements of its inputs are multiplied by a number that is made from the bytes of
answer i - 1. So no answer can be computed before the one in front of it: neither a launch for all
slots at once nor work during the flush gets the right bytes. The trusted side follows the chain from
the bytes it was given, so nothing here has to be believed.
"""

from __future__ import annotations

import ctypes
import os
import time
from typing import TYPE_CHECKING, Any

import torch

from . import chain, guard, tensors, wire

if TYPE_CHECKING:
    from .model_worker import Harness

CLOCK = time.perf_counter
MOVE = ctypes.memmove

PERSISTING_L2 = 0x06
"""CU_LIMIT_PERSISTING_L2_CACHE_SIZE of the CUDA driver interface."""


def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None


DRIVER = _driver()
"""Bound before a candidate's code runs. Loading it touches no GPU."""


def forget_persisting() -> None:
    """Give lines that an access-policy window keeps in the L2 back to the flush, and allow no more of them.

    Such a window holds a candidate's weights across calls, so that a flush does not reach them.
    """
    if DRIVER is not None:
        DRIVER.cuCtxSetLimit(PERSISTING_L2, ctypes.c_size_t(0))
        DRIVER.cuCtxResetPersistingL2Cache()


FLUSH_BYTES = 256 << 20
"""Written before every timed call: four times the largest L2 of today's parts (60 MB on an H200)."""

CYCLES_A_S = 2e9
"""Clock of the kernel that holds the GPU while the host queues a call; a little too long does no harm."""

LATE_S = -1.0
"""Stands for every time of a block in which a hold had ended before the host had queued the call behind it."""

EAGER, BUSY, GRAPH = "eager", "busy", "graph"
"""Modes: launched on an idle GPU, so that launch overhead counts; queued behind a held GPU, so that it
does not; and the same with the call captured as a CUDA graph."""


class Loops:
    """What the loops of one model keep from block to block."""

    def __init__(self, harness: Harness) -> None:
        self.harness = harness
        self.trash: torch.Tensor | None = None
        self.graph: Any = None
        self.static: list[Any] = []
        self.static_flats: list[torch.Tensor] = []
        self.result: Any = None
        self.snapshots: list[list[torch.Tensor]] = []
        self.slots: list[Any] = []
        self.bases: list[torch.Tensor] = []
        self.rows: list[torch.Tensor] = []

    # ------------------------------------------------------------------ slots
    def seeded(self, m: dict[str, Any]) -> list[Any]:
        """Return the slots on the device: the same tensors as in the block before, whose contents `draw` makes."""
        count = m["count"]
        if len(self.slots) < count:
            self._allocate(m, count)
        return self.slots[:count]

    def draw(self, number: int, seed: int) -> None:
        """Make the bytes of one slot; the trusted side makes the same when it judges."""
        generator = torch.Generator(self.harness.device).manual_seed(seed)
        for base, rows in zip(self.bases, self.rows, strict=True):
            rows[number, : base.numel()] = chain.fresh(base, 1, generator)[0]

    def _allocate(self, m: dict[str, Any], count: int) -> None:
        harness = self.harness
        args = tensors.decode(m["args"], lambda s: tensors.view(harness.inputs, s, m["base"]), harness.device)
        leaves = tensors.leaves(args)
        self.bases = [t.as_strided((t.numel(),), (1,)).to(harness.device) for t in leaves]
        self.rows, self.slots = [], []
        for base in self.bases:
            # Every slot starts where the allocator would have put a tensor of its own.
            width = wire.align(max(base.numel(), 1) * base.element_size()) // base.element_size()
            self.rows.append(torch.zeros((count, width), dtype=base.dtype, device=harness.device))
        for i in range(count):
            views = [r[i].as_strided(t.shape, t.stride()) for r, t in zip(self.rows, leaves, strict=True)]
            slot = tensors.rebuild(list(args), views)
            self.slots.append((slot, harness.flats(slot)))

    # ------------------------------------------------------------------ CPU
    def cpu(self, slots: list[Any], times: Any, m: dict[str, Any]) -> None:
        """Time each call with the host's clock."""
        harness, nbytes, stride = self.harness, m["out_nbytes"], m["out_stride"]
        model, single = harness.model, len(nbytes) == 1
        target, digest = harness.out_base + m["out"], 0
        told = (ctypes.c_int64 * len(slots)).from_buffer(harness.outputs, m["digests"])
        for i, (args, flats) in enumerate(slots):
            chain.nudge(flats, chain.factor(digest, m["salt"], i))
            begin = CLOCK()
            value = model(*args)
            times[i] = CLOCK() - begin
            # A lean copy: what it costs is the same on both sides and stays outside the inner clock. Lazily
            # conjugated or negated views hold other bytes than they stand for.
            plain = type(value) is torch.Tensor and not (value.is_conj() or value.is_neg())
            if single and plain and value.is_contiguous():
                MOVE(target + i * stride, value.data_ptr(), min(nbytes[0], value.numel() * value.element_size()))
            else:
                harness.store(harness.describe(value)[0], m["out"] + i * stride)
            told[i] = digest = chain.digest_of_memory(harness.outputs, m["out"] + i * stride, nbytes)

    # ------------------------------------------------------------------ CUDA
    def cuda(self, slots: list[Any], times: Any, m: dict[str, Any]) -> None:
        """Time each call with events on the stream it is called on, after a flush of the L2."""
        harness, mode = self.harness, m["mode"]
        if self.trash is None:
            self.trash = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=harness.device)
        if mode == GRAPH and self.graph is None:
            self._capture(slots[0][0])
        events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in slots]
        snapshots: list[list[torch.Tensor]] = []
        digest = torch.zeros((), dtype=torch.int64, device=harness.device)
        digests: list[torch.Tensor] = []
        cycles, late = int(m["hold_s"] * CYCLES_A_S), False
        torch.cuda.synchronize()
        forget_persisting()
        for i, ((args, flats), (begin, end)) in enumerate(zip(slots, events, strict=True)):
            if m["seed"] is not None:
                # Waits for the answer in front: no bytes of this call's inputs stood anywhere before it.
                self.draw(i, chain.slot_seed(m["seed"], int(digest), i))
            number = chain.factor_tensor(digest, m["salt"], i)
            if mode == GRAPH:
                for static, slot in zip(tensors.leaves(self.static), tensors.leaves(args), strict=True):
                    static.copy_(slot)
                flats = self.static_flats  # noqa: PLW2901  narrowed step by step
            if mode == EAGER:
                forget_persisting()
                self.trash.zero_()
                chain.nudge_tensor(flats, number)
                # Without this wait a fast host queues the call while the flush still runs, a slow one does
                # not, and the same reference reads 27 us in one process and 98 us in the next.
                torch.cuda.synchronize()
            else:
                torch.cuda._sleep(cycles)  # noqa: SLF001  no public call holds the GPU
                self.trash.zero_()
                chain.nudge_tensor(flats, number)
            begin.record()
            value = self._replay() if mode == GRAPH else harness.model(*args)
            end.record()
            late = late or (mode != EAGER and begin.query())
            # Queued right behind the call: work that it left on another stream or thread is not in it.
            snapshots.append([t.detach().clone() for t in tensors.parts(value, harness.device)])
            digest = chain.digest_of_tensors(snapshots[-1])
            digests.append(digest)
        torch.cuda.synchronize()
        for i, (begin, end) in enumerate(events):
            times[i] = LATE_S if late else begin.elapsed_time(end) * 1e-3
        # What every answer was is fixed here, inside the outer clock; some are asked for afterwards.
        told = torch.stack(digests).cpu()
        MOVE(harness.out_base + m["digests"], told.data_ptr(), 8 * len(digests))
        self.snapshots = snapshots

    def deliver(self, m: dict[str, Any]) -> None:
        """Copy the answers of some slots into the output memory, one behind the other."""
        for place, slot in enumerate(m["slots"]):
            self.harness.store(self.snapshots[slot], m["out"] + place * m["out_stride"])

    def _capture(self, args: list[Any]) -> None:
        """Capture one call on buffers of its own; raises whatever the model's code raises under capture."""
        self.static = tensors.rebuild(args, [t.clone() for t in tensors.leaves(args)])
        self.static_flats = [chain.flat(t) for t in tensors.leaves(self.static) if chain.bends(t)]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.harness.model(*self.static)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.result = self.harness.model(*self.static)
        self.graph = graph

    def _replay(self) -> Any:
        self.graph.replay()
        return self.result


def batch(harness: Harness, message: dict[str, Any]) -> wire.Reply:
    """Time a block of calls, each on its own slot of fresh bytes; one time a call goes in front of the outputs."""
    if message.get("core") is not None:
        # One core for all sides, which run one after the other: cores differ, and so do their neighbours.
        os.sched_setaffinity(0, {message["core"]})
    count, stride, base = message["count"], message["stride"], message["base"]
    if harness.loops is None:
        harness.loops = Loops(harness)
    if message["seed"] is not None:
        slots = harness.loops.seeded(message)
    else:
        slots = []
        for i in range(count):
            args, _ = harness.arguments(message["args"], base + i * stride)
            slots.append((args, harness.flats(args)))
    times = (ctypes.c_double * count).from_buffer(harness.outputs, message["times"])
    run = harness.loops.cuda if harness.cuda else harness.loops.cpu
    start = CLOCK()
    run(slots, times, message)
    seconds = CLOCK() - start
    return wire.Reply(0, wire.OK, harness.state, max(seconds, 0.0), (commitment(harness, message),), guard.tampered())


def commitment(harness: Harness, message: dict[str, Any]) -> wire.Output:
    """Return what binds the block's answers: of those that change behind the reply, none is right."""
    at, size = message["digests"], 8 * message["count"]
    return wire.Output("int64", chain.committed(bytes(harness.outputs[at : at + size])), size, 0)


def deliver(harness: Harness, message: dict[str, Any]) -> wire.Reply:
    """Hand over answers of the block that was timed last."""
    if harness.loops is not None:
        harness.loops.deliver(message)
    return wire.Reply(0, wire.OK, harness.state, 0.0, (), guard.tampered())
