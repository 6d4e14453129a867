"""Timing both sides: fresh pairs of processes, interleaved blocks, fresh bytes in every slot.

One pair = a reference process, a candidate process and a control (the reference again), forked in
random order, treated alike. A block is timed A B C on some bytes and C B A on the next. The speedup of
a pair is the ratio of medians; the interval is over pairs. On a GPU each pair also times calls queued
behind a held GPU, and calls captured as graphs, so that launch overhead and kernel time are told apart.
"""

from __future__ import annotations

import ctypes
import math
import os
import time
from typing import TYPE_CHECKING, Any

from . import gpu_modes, procs, stats, wire
from .challenge import refusal_of
from .pairs import Pair, Timed
from .side import EAGER, Baseline, Side
from .verdict import FASTER, MARGIN, Refusal, Speed

if TYPE_CHECKING:
    from .verification import Verification

BLOCK_S = {"cpu": 0.012, "cuda": 0.020}
"""Shortest block: below 12 ms a scheduler's tick shows in the outer clock."""

PAIRS, MOST_PAIRS = 8, 12
"""Pairs of processes that are always timed, and the most that are while the interval straddles a limit."""

EARLY = 1.5
"""An interval this much wider has to have left the limits to stop before the last pair: looking up to five times would
else double its error (4.9 % instead of 2.5 % of sessions at a limit were past it; with this 3.0 %, by simulation)."""

NARROW = 0.01
"""An interval whose half-width is within this part is narrow enough, whatever it straddles."""

ROUNDS = {"cpu": 4, "cuda": 8}
"""ABBA rounds a pair, two blocks each."""

MAX_CUDA_COUNT, MIN_COUNT = 18, 4
"""Slots of a block on a GPU (each with its flush of the L2), and the fewest while rounds can be given up instead."""

WARM_CALLS = 10
LONG_CALLS, LONG_S = 128, 0.5
"""Calls of the first pair's processes before they are timed, where those take no longer than this on each side."""

LEAD = {"cpu": 0, "cuda": 2}
"""First calls of a block that are judged but not timed: the GPU has just idled while a block was judged."""

DELIVERED_BYTES, DELIVERED_PART = 64 << 20, 0.1
"""Answers of a block are all judged up to this size; of larger ones as many as fit, at least two and this part."""

PATCHED = 0.5
PATCHED_GAP_S = 20e-6
PATCHED_OWN = {"cpu": 2.0, "cuda": 1.1}
"""Accuse the inner clock below half the outer one, and a gap a call above this plus so many times the reference's
own. On a GPU that own gap is the flush and the chain, some 280 us that hardly vary: 22 honest kernels on an H200
stayed within 18 us of it, a forged clock was 129 us beyond (benchmarks/results)."""


class Timer:
    """Times one candidate against one baseline."""

    def __init__(self, v: Verification, base: Baseline = EAGER, *, pairs: int = PAIRS, most: int = MOST_PAIRS) -> None:
        self.v, self.base, self.least, self.most = v, base, pairs, most
        self.kind = "cuda" if v.device.startswith("cuda") else "cpu"
        self.count = 0
        self.rounds = ROUNDS[self.kind]
        self.control = True
        self.calls = 0
        self.fresh = True
        self.args: dict[str, Any] = {}
        self.missing: dict[str, str] = {}
        self.end = time.monotonic() + v.limits.timing_s
        self.pairs = 0
        self.based: set[str] = set()
        self.call_s = 0.0
        self.core: int | None = None
        self.kernels: list[dict[str, Any]] = []
        self.profiled = False

    def run(self) -> Timed | Refusal:
        """Time all pairs; a wrong or forged answer on the way is a refusal."""
        pairs: list[Pair] = []
        while len(pairs) < self.most:
            if time.monotonic() > self.end and len(pairs) >= 3:
                break
            found = self._pair()
            if isinstance(found, Refusal):
                return found
            pairs.append(found)
            self.pairs = len(pairs)
            if sum(p.kept for p in pairs) >= self.least and self.decided(self._timed(pairs).speed()):
                break
        timed = self._timed(pairs)
        return self._clocks(timed) or timed

    def _timed(self, pairs: list[Pair]) -> Timed:
        return Timed(pairs, self.calls, self.fresh, self.count, self.missing, self.kernels)

    def decided(self, speed: Speed) -> bool:
        """Say whether more pairs would not change the verdict, or the interval is narrow already."""
        claim = self.v.claim
        limits = [FASTER, *(((1.0 - MARGIN) * claim, (1.0 + MARGIN) * claim) if claim else ())]
        width = math.log(speed.high / speed.low)
        more = math.exp(0.5 * (EARLY - 1.0) * width)
        return width <= 2.0 * NARROW or not any(speed.low / more < limit < speed.high * more for limit in limits)

    def _pair(self) -> Pair | Refusal:
        v, since = self.v, time.monotonic()
        # All sides of a pair run on one core, in turn.
        self.core = v.rng.choice(v.cores) if v.cores else None
        self.based.clear()
        specs = v.oracle.ask({"op": "model", "seed": v.first_seed, "to": ["cand_in", "ref_in", "ctl_in"]})
        names = ["ref", "cand", "ctl"] if self.control else ["ref", "cand"]
        v.rng.shuffle(names)
        sides: dict[str, Side] = {}
        at = names[0]
        try:
            with v.stage("timing: start"):
                for at in names:
                    sides[at] = Side(v, at, reference=at != "cand", base=self.base, core=self.core)
                # All at once: an import and a CUDA context take their time.
                tokens = {at: sides[at].worker.begin({"op": "load"}) for at in names}
                for at in names:
                    reply, _ = sides[at].worker.finish(tokens[at], v.limits.load_s)
                    if reply.status == wire.OK:
                        reply = sides[at].construct(specs, v.first_seed, v.limits)
                    refused = refusal_of(reply, "timed", {})
                    if refused:
                        return refused if at == "cand" else self._broken(reply.message)
            with v.stage("timing: warm-up"):
                refused = self._warm(sides)
            with v.stage("timing: eager"):
                pair = refused or self._rounds(sides)
            if self.kind == "cpu" or not isinstance(pair, Pair):
                return pair
            with v.stage("timing: modes"):
                return gpu_modes.finish(self, sides, pair, since)
        except procs.WorkerTimeoutError:
            return Refusal("TIMEOUT", None, "timed", {"timed": True}) if at == "cand" else self._broken("time-out")
        except procs.WorkerDiedError:
            sides[at].worker.close(grace_s=0.3)
            ended = sides[at].worker.exit_words()
            return (
                Refusal("CRASHED", None, "timed", {"timed": True, "ended": ended})
                if at == "cand"
                else self._broken(ended)
            )
        except wire.ForgedReplyError as error:
            return (
                Refusal("HACK", "result_forge", "wire", {"timed": True, "received": str(error)})
                if at == "cand"
                else self._broken(str(error))
            )
        finally:
            for side in sides.values():
                side.worker.close()

    def _broken(self, message: str) -> Refusal:
        return Refusal("UNVERIFIABLE", "baseline_failed", "reference", {"error": message}, "unknown")

    def _warm(self, sides: dict[str, Side]) -> Refusal | None:
        """Warm every side up alike, and choose the block's size from the reference at the first pair."""
        v = self.v
        if not self.count:
            self.count = min(v.files.layout.max_count, 4)
            self.block({"ref": sides["ref"]}, ["ref"], None, v.limits.first_call_s)
            probe = Pair()
            start = time.monotonic()
            self.block({"ref": sides["ref"]}, ["ref"], probe, v.limits.first_call_s)
            wall, outer = (time.monotonic() - start) / self.count, stats.median(probe.outer["ref"])
            # A block runs on three sides, and its filling costs about what judging it does.
            self._choose(probe.median("ref"), 3.0 * outer + 2.0 * (wall - outer))
        # Kernels have been honest for a while and then replayed: one process of each kind lives that long.
        least = LONG_CALLS if self.pairs == 0 and self.call_s * LONG_CALLS < LONG_S else WARM_CALLS
        done = 0
        while done < (least if self.count > 1 else 2):
            refused = self.block(sides, list(sides), None, v.limits.first_call_s)
            if refused:
                return refused
            done += self.count
        return None

    def _choose(self, call_s: float, slot_s: float) -> None:
        """Choose slots a block and rounds a pair so that all pairs fit into the budget.

        Args:
            call_s: one call of the reference, seconds.
            slot_s: what one slot costs altogether: filling, running on all sides, judging.
        """
        self.call_s = call_s
        self.count = max(1, min(self.v.files.layout.max_count, math.ceil(BLOCK_S[self.kind] / max(call_s, 1e-7))))
        if self.kind == "cuda":
            self.count = min(self.count, MAX_CUDA_COUNT)
        left = 0.8 * (self.end - time.monotonic()) / self.least

        def over() -> bool:
            return 2 * self.rounds * self.count * slot_s > left

        while over() and self.rounds > 2:
            self.rounds -= 1
        while over() and self.count > MIN_COUNT:
            self.count = max(MIN_COUNT, self.count // 2)
        while over() and self.rounds > 1:
            self.rounds -= 1
        while over() and self.count > 1:
            self.count -= 1
        self.control = not over()

    def _rounds(self, sides: dict[str, Side]) -> Pair | Refusal:
        pair = Pair(by_round=self.kind == "cuda")
        order = list(sides)
        for _ in range(self.rounds):
            self.v.rng.shuffle(order)
            for names in (order, order[::-1]):
                refused = self.block(sides, names, pair, self.v.limits.timing_s)
                if refused:
                    return refused
        return pair

    def block(  # noqa: PLR0917  one argument an option
        self,
        sides: dict[str, Side],
        names: list[str],
        pair: Pair | None,
        timeout_s: float,
        mode: str = "eager",
        hold_s: float = 0.0,
        quiet: bool = False,
    ) -> Refusal | None:
        """Fill one block with fresh bytes, run it on each side, judge the candidate's outputs.

        Args:
            sides: the workers.
            names: who runs, in this order.
            pair: where the times go, None to warm up.
            timeout_s: seconds one side may take.
            mode: see timed_loops.
            hold_s: how long the GPU is held in the modes that queue.
            quiet: whether a failure is no failure of the gate.
        """
        v, lay, seed = self.v, self.v.files.layout, self.v.rng.getrandbits(62)
        made = v.oracle.ask(
            {
                "op": "fill",
                "seed": seed,
                "base_seed": v.info["base_seed"],
                "count": self.count,
                "stride": lay.in_stride,
                "to": [f"{n}_in" for n in names],
                "seeded": self.kind == "cuda",
                "base_to": [f"{n}_in" for n in names if f"{n}_in" not in self.based],
            }
        )
        self.based |= {f"{n}_in" for n in names}
        self.fresh, self.args = self.fresh and made["fresh"], made["args"]
        # Drawn after the inputs stand, told when the block begins.
        salt = v.rng.getrandbits(30)
        block = {"count": self.count, "mode": mode, "salt": salt, "hold_s": hold_s, "core": self.core}
        block["seed"] = seed if made["seeded"] else None
        bound: list[int] = []
        for name in names:
            start = time.monotonic()
            try:
                reply, outer = sides[name].batch(made["args"], block, v.info["out_nbytes"], timeout_s)
            except (procs.WorkerDiedError, procs.WorkerTimeoutError, wire.ForgedReplyError) as error:
                return self.lost(sides[name], name, error)
            refused = refusal_of(reply, "timed", {"timed": True})
            if refused:
                return refused if name == "cand" else self._broken(reply.message)
            if name == "cand":
                bound = list(reply.outputs[0].shape) if reply.outputs else []
            if pair is not None and mode != "eager" and self._late(name):
                return Refusal("UNVERIFIABLE", "late", "timed", {"error": "the host queues too slowly"}, "unknown")
            if pair is not None:
                times = self._times(name)[LEAD[self.kind] if self.count > 2 * LEAD[self.kind] else 0 :]
                if mode != "eager":
                    pair.modes[mode][name] += times
                    pair.mode_outer[mode][name].append(outer / self.count)
                    continue
                pair.times[name] += times
                pair.blocks[name].append(stats.median(times))
                pair.spans[name].append((start, time.monotonic()))
                pair.outer[name].append(outer / self.count)
                inner = stats.median(times) if self.kind == "cuda" else math.fsum(self._times(name)) / self.count
                pair.gaps[name].append(outer / self.count - inner)
        return self._judge(sides["cand"], salt, bound, quiet=quiet) if "cand" in names else None

    def lost(self, side: Side, name: str, error: Exception) -> Refusal:
        """Say how a side was lost within a block."""
        side.worker.close(grace_s=0.3)
        ended = side.worker.exit_words()
        if name != "cand":
            return self._broken(ended)
        if isinstance(error, procs.WorkerTimeoutError):
            return Refusal("TIMEOUT", None, "timed", {"timed": True})
        if isinstance(error, wire.ForgedReplyError):
            return Refusal("HACK", "result_forge", "wire", {"timed": True, "received": str(error)})
        return Refusal("CRASHED", None, "timed", {"timed": True, "ended": ended})

    def _late(self, name: str) -> bool:
        raw = os.pread(self.v.files.fds[f"{name}_out"], 8, self.v.files.layout.times_at)
        return ctypes.c_double.from_buffer_copy(raw).value < 0.0

    def _times(self, name: str) -> list[float]:
        """Read the inner clock's times; anything that is no time becomes a huge one."""
        raw = os.pread(self.v.files.fds[f"{name}_out"], 8 * self.count, self.v.files.layout.times_at)
        values = list((ctypes.c_double * self.count).from_buffer_copy(raw))
        return [t if 0.0 < t < 1e6 else (1e-9 if t <= 0.0 else 1e6) for t in values]

    def _chosen(self) -> list[int]:
        """Choose the slots whose answers are judged, after the block: all while they are small."""
        size = self.v.files.layout.out_stride
        if self.kind == "cpu" or self.count * size <= DELIVERED_BYTES:
            return list(range(self.count))
        fewest = max(2, math.ceil(DELIVERED_PART * self.count))
        most = max(fewest, DELIVERED_BYTES // size)
        return sorted(self.v.rng.sample(range(self.count), min(self.count, most)))

    def _judge(self, side: Side, salt: int, bound: list[int], *, quiet: bool) -> Refusal | None:
        v, lay, slots = self.v, self.v.files.layout, self._chosen()
        if self.kind == "cuda":
            # Not in the outer clock: it would count the copies of one side alone.
            try:
                refused = refusal_of(side.deliver(slots, v.limits.timing_s), "timed", {"timed": True})
            except (procs.WorkerDiedError, procs.WorkerTimeoutError, wire.ForgedReplyError) as error:
                return self.lost(side, "cand", error)
            if refused:
                return refused
        found = v.oracle.ask(
            {
                "op": "judge_batch",
                "salt": salt,
                "count": self.count,
                "slots": slots,
                "digests": lay.digests_at,
                "bound": bound,
                "inputs": self.kind == "cpu",
                "stride": lay.in_stride,
                "out": lay.outs_at,
                "out_stride": lay.out_stride,
            }
        )
        self.calls += found["n"]
        v.checks.note("timed", passed=found["ok"] or quiet)
        if found["ok"]:
            return None
        kind = {"input_mutation": "input_mutation", "stale": "cache_replay", "deferred": "deferred"}.get(found["what"])
        return Refusal("HACK" if kind else "INCORRECT", kind, "timed", found["witness"])

    def _clocks(self, timed: Timed) -> Refusal | None:
        inner = stats.median([p.median("cand") for p in timed.pairs])
        # The least gap of a pair's blocks: a busy machine adds to most of them, a false clock to every one. The
        # median over pairs: honest in one process in eight is not honest.
        gap = stats.median([min(p.gaps["cand"]) for p in timed.pairs])
        least = [min(p.gaps[side]) for p in timed.pairs for side in ("ref", "ctl") if p.gaps[side]]
        # On a CPU whatever else runs there makes these gaps: what any pair's equal sides show is no forged clock's.
        own = max(0.0, max(least) if self.kind == "cpu" else stats.median([min(p.gaps["ref"]) for p in timed.pairs]))
        off = gap > PATCHED_GAP_S + PATCHED_OWN[self.kind] * own and inner < PATCHED * (inner + gap - own)
        self.v.checks.note(
            "clock", passed=not off, inner_us=inner * 1e6, outer_gap_us=gap * 1e6, reference_gap_us=own * 1e6
        )
        if off:
            return Refusal(
                "HACK",
                "timing",
                "clock",
                {"inner_us": inner * 1e6, "outer_us": (inner + gap) * 1e6, "reference_gap_us": own * 1e6},
            )
        return None
