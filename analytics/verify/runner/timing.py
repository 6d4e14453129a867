"""Timing both sides: fresh pairs of processes, interleaved blocks, fresh bytes in every slot.

One pair = a reference process, a candidate process and a control (the reference again), forked in
random order, treated alike. A block is timed A B C on some bytes and C B A on the next. The speedup of
a pair is the ratio of medians; the interval is over pairs.
"""

from __future__ import annotations

import ctypes
import math
import os
import random
import subprocess
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import procs, stats, wire
from .challenge import Side, refusal_of
from .verdict import Refusal, Speed

if TYPE_CHECKING:
    from .verification import Verification

BLOCK_S = {"cpu": 0.012, "cuda": 0.020}
"""Shortest block: below 12 ms a scheduler's tick shows in the outer clock."""

PAIRS, MORE_PAIRS = 8, 4
"""Pairs of processes, and how many are added when the interval straddles a limit."""

ROUNDS = 4
"""ABBA rounds a pair, two blocks each."""

MAX_CUDA_COUNT, MIN_COUNT = 64, 4
"""Slots of a block on a GPU (each with its flush of the L2), and the fewest while rounds can be given up instead."""

WARM_CALLS = 10

PATCHED = 0.5
PATCHED_GAP_S = 20e-6
"""Accuse the inner clock below half the outer one, and a gap a call above this plus twice the reference's own."""


@dataclass
class Pair:
    """Times of one pair of processes, seconds a call."""

    times: dict[str, list[float]] = field(default_factory=lambda: {"ref": [], "cand": [], "ctl": []})
    outer: dict[str, list[float]] = field(default_factory=lambda: {"ref": [], "cand": [], "ctl": []})
    gaps: dict[str, list[float]] = field(default_factory=lambda: {"ref": [], "cand": [], "ctl": []})
    """What the outer clock saw beyond the inner one, seconds a call, one value a block."""
    clock_mhz: int | None = None

    def median(self, side: str) -> float:
        """Median time of a call."""
        return stats.median(self.times[side])


@dataclass
class Timed:
    """All pairs of one candidate."""

    pairs: list[Pair]
    calls: int
    fresh: bool
    count: int

    def speed(self) -> Speed:
        """Speedup with its interval, widened by what the control deviates from 1."""
        ratios = [p.median("ref") / p.median("cand") for p in self.pairs]
        return Speed(*stats.log_interval(ratios, self.deviation()))

    def deviation(self) -> float:
        """Mean log ratio of reference and control, 0 without one."""
        controls = [math.log(p.median("ref") / p.median("ctl")) for p in self.pairs if p.times["ctl"]]
        return abs(math.fsum(controls) / len(controls)) if controls else 0.0

    def rows(self, baseline: str) -> list[dict[str, Any]]:
        """Rows of the document, microseconds."""
        return [
            {
                "baseline": baseline,
                "pair": i,
                "ref_us": p.median("ref") * 1e6,
                "cand_us": p.median("cand") * 1e6,
                "kept": True,
                "clock_mhz": p.clock_mhz,
            }
            for i, p in enumerate(self.pairs)
        ]


class Timer:
    """Times one candidate against one baseline."""

    def __init__(self, v: Verification, *, autocast: str | None = None) -> None:
        self.v, self.autocast = v, autocast
        self.kind = "cuda" if v.device.startswith("cuda") else "cpu"
        self.count = 0
        self.rounds = ROUNDS
        self.control = True
        self.calls = 0
        self.fresh = True
        self.end = time.monotonic() + v.limits.timing_s

    def run(self) -> Timed | Refusal:
        """Time all pairs; a wrong or forged answer on the way is a refusal."""
        pairs: list[Pair] = []
        want = PAIRS
        while len(pairs) < want:
            if time.monotonic() > self.end and len(pairs) >= 3:
                break
            found = self._pair()
            if isinstance(found, Refusal):
                return found
            pairs.append(found)
            if len(pairs) == PAIRS and time.monotonic() < self.end and self.undecided(Timed(pairs, 0, True, 0).speed()):
                want = PAIRS + MORE_PAIRS
        timed = Timed(pairs, self.calls, self.fresh, self.count)
        return self._clocks(timed) or timed

    def undecided(self, speed: Speed) -> bool:
        """Say whether more pairs could change the verdict."""
        limits = [1.01, *((0.95 * self.v.claim, 1.05 * self.v.claim) if self.v.claim else ())]
        return any(speed.low < limit < speed.high for limit in limits)

    def _pair(self) -> Pair | Refusal:
        v = self.v
        specs = v.oracle.ask({"op": "model", "seed": v.first_seed, "to": ["cand_in", "ref_in", "ctl_in"]})
        names = ["ref", "cand", "ctl"] if self.control else ["ref", "cand"]
        random.shuffle(names)
        sides: dict[str, Side] = {}
        at = names[0]
        try:
            for at in names:
                sides[at] = Side(v, at, reference=at != "cand", autocast=self.autocast if at != "cand" else None)
            # All at once: an import and a CUDA context take their time.
            tokens = {at: sides[at].worker.begin({"op": "load"}) for at in names}
            for at in names:
                reply, _ = sides[at].worker.finish(tokens[at], v.limits.load_s)
                if reply.status == wire.OK:
                    reply = sides[at].construct(specs, v.first_seed, v.limits)
                refused = refusal_of(reply, "timed", {})
                if refused:
                    return refused if at == "cand" else self._broken(reply.message)
            refused = self._warm(sides)
            pair = refused or self._rounds(sides)
            if isinstance(pair, Pair) and self.kind == "cuda":
                pair.clock_mhz = sm_clock(v.device)
            return pair  # noqa: TRY300
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
            self._block({"ref": sides["ref"]}, ["ref"], None, v.limits.first_call_s)
            probe = Pair()
            start = time.monotonic()
            self._block({"ref": sides["ref"]}, ["ref"], probe, v.limits.first_call_s)
            wall, outer = (time.monotonic() - start) / self.count, stats.median(probe.outer["ref"])
            # A block runs on three sides, and its filling costs about what judging it does.
            self._choose(probe.median("ref"), 3.0 * outer + 2.0 * (wall - outer))
        done = 0
        while done < (WARM_CALLS if self.count > 1 else 2):
            refused = self._block(sides, list(sides), None, v.limits.first_call_s)
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
        self.count = max(1, min(self.v.files.layout.max_count, math.ceil(BLOCK_S[self.kind] / max(call_s, 1e-7))))
        if self.kind == "cuda":
            self.count = min(self.count, MAX_CUDA_COUNT)
        left = 0.8 * (self.end - time.monotonic()) / PAIRS

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
        pair = Pair()
        order = list(sides)
        random.shuffle(order)
        for _ in range(self.rounds):
            for names in (order, order[::-1]):
                refused = self._block(sides, names, pair, self.v.limits.timing_s)
                if refused:
                    return refused
        return pair

    def _block(self, sides: dict[str, Side], names: list[str], pair: Pair | None, timeout_s: float) -> Refusal | None:
        """Fill one block with fresh bytes, run it on each side, judge the candidate's outputs."""
        v, lay = self.v, self.v.files.layout
        made = v.oracle.ask(
            {
                "op": "fill",
                "seed": v.rng.getrandbits(62),
                "base_seed": v.info["base_seed"],
                "count": self.count,
                "stride": lay.in_stride,
                "to": [f"{n}_in" for n in names],
            }
        )
        self.fresh = self.fresh and made["fresh"]
        for name in names:
            try:
                reply, outer = sides[name].batch(made["args"], self.count, v.info["out_nbytes"], timeout_s)
            except (procs.WorkerDiedError, procs.WorkerTimeoutError, wire.ForgedReplyError) as error:
                return self._lost(sides[name], name, error)
            refused = refusal_of(reply, "timed", {"timed": True})
            if refused:
                return refused if name == "cand" else self._broken(reply.message)
            if pair is not None:
                times = self._times(name)
                pair.times[name] += times
                pair.outer[name].append(outer / self.count)
                pair.gaps[name].append((outer - math.fsum(times)) / self.count)
        return self._judge() if "cand" in names and "ref" in names else None

    def _lost(self, side: Side, name: str, error: Exception) -> Refusal:
        side.worker.close(grace_s=0.3)
        ended = side.worker.exit_words()
        if name != "cand":
            return self._broken(ended)
        if isinstance(error, procs.WorkerTimeoutError):
            return Refusal("TIMEOUT", None, "timed", {"timed": True})
        if isinstance(error, wire.ForgedReplyError):
            return Refusal("HACK", "result_forge", "wire", {"timed": True, "received": str(error)})
        return Refusal("CRASHED", None, "timed", {"timed": True, "ended": ended})

    def _times(self, name: str) -> list[float]:
        """Read the inner clock's times; anything that is no time becomes a huge one."""
        raw = os.pread(self.v.files.fds[f"{name}_out"], 8 * self.count, self.v.files.layout.times_at)
        values = list((ctypes.c_double * self.count).from_buffer_copy(raw))
        return [t if 0.0 < t < 1e6 else (1e-9 if t <= 0.0 else 1e6) for t in values]

    def _judge(self) -> Refusal | None:
        v, lay = self.v, self.v.files.layout
        found = v.oracle.ask(
            {
                "op": "judge_batch",
                "side": "cand",
                "count": self.count,
                "stride": lay.in_stride,
                "out": lay.outs_at,
                "out_stride": lay.out_stride,
            }
        )
        self.calls += found["n"]
        v.checks.note("timed", passed=found["ok"])
        if found["ok"]:
            return None
        if found["what"] == "input_mutation":
            return Refusal("HACK", "input_mutation", "timed", found["witness"])
        if found["what"] == "stale":
            return Refusal("HACK", "cache_replay", "timed", found["witness"])
        return Refusal("INCORRECT", None, "timed", found["witness"])

    def _clocks(self, timed: Timed) -> Refusal | None:
        inner = stats.median([p.median("cand") for p in timed.pairs])
        # The least gap of all blocks: a busy machine adds to most of them, a false clock to every one.
        gap = min(g for p in timed.pairs for g in p.gaps["cand"])
        own = max(0.0, min(g for p in timed.pairs for g in p.gaps["ref"]))
        off = gap > PATCHED_GAP_S + 2.0 * own and inner < PATCHED * (inner + gap - own)
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


def sm_clock(device: str) -> int | None:
    """Return the GPU's SM clock in MHz, None where nvidia-smi cannot say."""
    index = device.partition(":")[2] or "0"
    try:
        done = subprocess.run(
            ["nvidia-smi", f"--id={index}", "--query-gpu=clocks.sm", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=5,
            check=True,
        )
        return int(done.stdout.strip().splitlines()[0])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None
