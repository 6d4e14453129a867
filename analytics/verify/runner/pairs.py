"""What was timed: pairs of processes, and the speedups that follow from them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import stats
from .verdict import Speed

if TYPE_CHECKING:
    from collections.abc import Sequence

NAMES = {"eager": "eager", "busy": "gpu_busy", "graph": "cuda_graph"}
"""Name of a mode's row among the document's baselines."""

HIDDEN_S, HIDDEN_PART = 20e-6, {"cpu": 0.5, "cuda": 0.1}
"""What a side may spend beside its calls beyond the other's: this, and a part of what the other spends. The least
gaps of honest kernels on an H200 stayed within 48 us of some 450, a forged clock's was 129 us beyond (`clock` in
benchmarks/results); the medians that `beyond` compares have not been recorded yet."""

CLOCKS_APART = 0.02
"""A pair is dropped when the SM clocks of its sides differ by more than this part."""


@dataclass
class Pair:
    """Times of one pair of processes, seconds a call."""

    times: dict[str, list[float]] = field(default_factory=lambda: {"ref": [], "cand": [], "ctl": []})
    outer: dict[str, list[float]] = field(default_factory=lambda: {"ref": [], "cand": [], "ctl": []})
    gaps: dict[str, list[float]] = field(default_factory=lambda: {"ref": [], "cand": [], "ctl": []})
    """What the outer clock saw beyond the inner one, seconds a call, one value a block: beyond the mean call on the
    CPU, where a block waits for its core within calls too; on a GPU beyond the median one, or a false clock could
    tell the rest of its time for one slot alone."""
    modes: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Times by mode and side, of the modes beside the first."""
    mode_outer: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    """Seconds a call of their blocks, by the outer clock."""
    beside: float = 1.0
    """How many times longer the reference takes beside the candidate than alone, behind it."""
    spans: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: {"ref": [], "cand": [], "ctl": []})
    blocks: dict[str, list[float]] = field(default_factory=lambda: {"ref": [], "cand": [], "ctl": []})
    """The median of each block, two a round."""
    clocks: dict[str, int | None] = field(default_factory=dict)
    slowed: bool = False
    by_round: bool = False

    def median(self, side: str) -> float:
        """Median time of a call."""
        return stats.median(self.times[side])

    def ratio(self, other: str) -> float:
        """Return how many times longer the reference takes than another side.

        On a GPU the median over the rounds, each of which saw the host in one mood: launch overhead
        drifts by tens of per cent within a second. On the CPU the ratio of medians, as calibrated.
        """
        if not self.by_round:
            return self.median("ref") / self.median(other)
        logs = [math.log(a / b) for a, b in zip(self.blocks["ref"], self.blocks[other], strict=True)]
        rounds = [sum(logs[i : i + 2]) / len(logs[i : i + 2]) for i in range(0, len(logs), 2)]
        return math.exp(stats.median(rounds))

    def outer_ratio(self) -> float | None:
        """How many times longer the reference takes than the candidate, by the outer clock."""
        return outer_ratio(self.median("ref"), self.outer["ref"], self.outer["cand"])

    @property
    def clock_mhz(self) -> int | None:
        """SM clock while the candidate ran, None where it is not known."""
        return self.clocks.get("cand") or self.clocks.get("ref")

    @property
    def kept(self) -> bool:
        """Whether the clocks of both sides were alike and the hardware did not slow itself down."""
        known = [c for side, c in self.clocks.items() if c and side in {"ref", "cand"}]
        return not self.slowed and (len(known) < 2 or max(known) <= (1.0 + CLOCKS_APART) * min(known))


def outer_ratio(ref_s: float, ref: list[float], cand: list[float]) -> float | None:
    """Return how many times longer the reference takes than the candidate, from blocks timed by the outer clock.

    Args:
        ref_s: A call of the reference, by the clock in its own process.
        ref: Seconds a call of the reference's blocks, all that surrounds a call included; two blocks a round.
        cand: The same of the candidate's.

    Returns:
        None without blocks. The difference is the median over rounds, whose two blocks saw the machine in one mood.
    """
    pairs = list(zip(ref, cand, strict=False))
    rounds = [math.fsum(c - r for r, c in pairs[i : i + 2]) / len(pairs[i : i + 2]) for i in range(0, len(pairs), 2)]
    if not rounds:
        return None
    # A candidate cannot take less than nothing: 1 % of the reference is the floor.
    return ref_s / max(ref_s + stats.median(rounds), 0.01 * ref_s)


@dataclass
class Timed:
    """All pairs of one candidate against one baseline."""

    pairs: list[Pair]
    calls: int
    fresh: bool
    count: int
    missing: dict[str, str] = field(default_factory=dict)
    """Modes that could not be timed, with the reason."""
    kernels: list[dict[str, Any]] = field(default_factory=list)
    """Kernels of a call, as the candidate's process saw them."""

    def used(self) -> list[Pair]:
        """Return the pairs that count: those kept, or all when none was. Fewer than three decide nothing."""
        return [p for p in self.pairs if p.kept] or self.pairs

    def speed(self) -> Speed:
        """Speedup with its interval, widened by what the control deviates from 1.

        The inner clock stands in the candidate's process and may be patched, or work moved behind it.
        Where the outer clock puts the speedup wholly below the inner one, the outer clock's counts: a
        false inner clock gains no more than the outer one's own error.
        """
        inner, outer = self.inner_speed(), self.outer_speed()
        if outer is not None and self.overruled:
            return outer
        # On a busy machine the outer clock's interval is too wide to contradict anything. The least that any
        # block spent beside its calls is not: what the candidate spends more there may belong to its calls.
        low = inner.low / (1.0 + self.hidden() / stats.median([p.median("cand") for p in self.used()]))
        if outer is not None and not self.by_round and outer.high < inner.low:
            # Other work on the same cores makes the outer clock contradict two equal sides too: what it says then is
            # no time but a bound, and neither clock is believed against the other.
            low = min(low, outer.low)
        return inner if low == inner.low else Speed(math.sqrt(low * inner.high), low, inner.high)

    def hidden(self) -> float:
        """Seconds a call that the candidate spends beside its own clock and the reference does not; 0 within noise."""
        mine = [g for p in self.pairs for g in p.gaps["cand"]]
        own = [g for p in self.pairs for g in p.gaps["ref"]]
        if not mine or not own:
            return 0.0
        more, least = min(mine) - max(0.0, min(own)), max(0.0, min(own))
        return more if more > HIDDEN_S + self.hidden_part * least else 0.0

    @property
    def by_round(self) -> bool:
        """Whether these are a GPU's pairs."""
        return self.pairs[0].by_round

    @property
    def hidden_part(self) -> float:
        """HIDDEN_PART of this kind of device."""
        return HIDDEN_PART["cuda" if self.by_round else "cpu"]

    def inner_speed(self) -> Speed:
        """The speedup by the clocks in the sides' own processes."""
        return Speed(*stats.log_interval([p.ratio("cand") for p in self.used()], self.deviation()))

    @property
    def overruled(self) -> bool:
        """Whether the outer clock contradicts the candidate's, so that none of its own times is shown."""
        outer = self.outer_speed()
        if outer is None or outer.high * math.exp(self.outer_noise()) >= self.inner_speed().low:
            return False
        # A GPU's host adds some milliseconds to a block now and then, to either side, and so does whatever else runs
        # on a CPU. What most blocks of most pairs spent beyond the reference's is no such accident; not the least, or
        # a clock could be honest in one.
        gaps = [(stats.median(p.gaps["ref"]), stats.median(p.gaps["cand"])) for p in self.used()]
        return beyond(gaps, self.hidden_part)

    def outer_noise(self) -> float:
        """By how much, as a log ratio, the outer clock of a CPU run tells two equal sides apart; 0 on a GPU.

        The most that any pair's control deviates from the reference: on a loaded machine whole blocks wait for their
        core, in three pairs of eight alike on one side. Infinite without a control: nothing says how much it is then.
        """
        if self.by_round:
            return 0.0
        used = [p for p in self.used() if p.outer["ref"]]
        ratios = [outer_ratio(p.median("ref"), p.outer["ref"], p.outer["ctl"]) for p in used]
        return max((abs(math.log(r)) if r else math.inf for r in ratios), default=math.inf)

    def outer_speed(self) -> Speed | None:
        """The speedup by clocks that the candidate cannot reach, None without them.

        The reference's call time, which its own process measured, plus what a block took longer or
        shorter on the candidate's side: what surrounds the calls is the same on both sides.
        """
        ratios = [r for p in self.used() if (r := p.outer_ratio()) is not None]
        return bounded(ratios, self.deviation()) if len(ratios) >= 2 else None

    def deviation(self) -> float:
        """Mean log ratio of reference and control, 0 without one."""
        controls = [math.log(p.ratio("ctl")) for p in self.used() if p.times["ctl"]]
        return abs(math.fsum(controls) / len(controls)) if controls else 0.0

    def mode(self, name: str) -> tuple[Speed, float, float, int] | None:
        """Return (speedup, reference seconds, candidate seconds, pairs) of another mode, None without times to trust.

        A clock that the outer one contradicts in the first mode counts in none, nor does one in a mode of its own.
        """
        if self.overruled:
            return None
        having = [p for p in self.used() if p.modes.get(name, {}).get("cand")]
        if len(having) < 2:
            return None
        found = [{side: stats.median(times) for side, times in p.modes[name].items() if times} for p in having]
        sides = [(m["ref"], m["cand"]) for m in found]
        off = [math.log(m["ref"] / m["ctl"]) for m in found if "ctl" in m]
        widen = abs(math.fsum(off) / len(off)) if off else 0.0
        speed = Speed(*stats.log_interval([r / c for r, c in sides], widen))
        outer = [
            ratio
            for p, (ref, _) in zip(having, sides, strict=True)
            if (ratio := outer_ratio(ref, p.mode_outer[name]["ref"], p.mode_outer[name]["cand"])) is not None
        ]
        gaps = [
            tuple(stats.median(p.mode_outer[name][side]) - times[side] for side in ("ref", "cand"))
            for p, times in zip(having, found, strict=True)
        ]
        if len(outer) >= 2 and bounded(outer, widen).high < speed.low and beyond(gaps, self.hidden_part):
            return None
        return speed, stats.median([r for r, _ in sides]), stats.median([c for _, c in sides]), len(found)

    def candidate_s(self) -> float:
        """Seconds a call of the candidate, by the clock that counts."""
        return stats.median([self._candidate_s(p) for p in self.used()])

    def beside(self) -> float:
        """How many times longer the reference takes beside the candidate than alone."""
        return stats.median([p.beside for p in self.used()])

    def _candidate_s(self, pair: Pair) -> float:
        """Seconds a call of the candidate in one pair, by the clock that counts."""
        outer = pair.outer_ratio() if self.overruled else None
        return pair.median("ref") / outer if outer else pair.median("cand")

    def rows(self, baseline: str) -> list[dict[str, Any]]:
        """Rows of the document, microseconds."""
        rows = []
        for i, p in enumerate(self.pairs):
            others = {k: v for k, v in p.modes.items() if baseline == "eager" and self.mode(k)}
            sides = {baseline: p.times, **{NAMES[k]: v for k, v in others.items()}}
            rows += [
                {
                    "baseline": name,
                    "pair": i,
                    "ref_us": stats.median(times["ref"]) * 1e6,
                    "cand_us": (self._candidate_s(p) if times is p.times else stats.median(times["cand"])) * 1e6,
                    "kept": p.kept,
                    "clock_mhz": p.clock_mhz,
                }
                for name, times in sides.items()
                if times["ref"] and times["cand"]
            ]
        return rows

    def baselines(self, name: str) -> dict[str, Any]:
        """Return the document's baselines: the one that was timed against, and its other modes."""
        speed, pairs = self.speed(), self.used()
        found: dict[str, Any] = {
            name: {
                **_row(
                    speed,
                    stats.median([p.median("ref") for p in pairs]),
                    self.candidate_s(),
                    len(pairs),
                ),
                "calls_a_block": self.count,
                "control_deviation": self.deviation() if any(p.times["ctl"] for p in pairs) else None,
                "outer_clock": _bounds(self.outer_speed()),
                "dropped_pairs": sum(not p.kept for p in self.pairs),
                "reference_beside_over_alone": self.beside(),
            }
        }
        if name == "eager":
            for mode in ("busy", "graph"):
                row = self.mode(mode)
                if row:
                    found[NAMES[mode]] = _row(*row)
                elif mode in self.missing or any(mode in p.modes for p in pairs):
                    reason = "the candidate's clock and the outer one contradict each other"
                    found[NAMES[mode]] = {"missing": self.missing.get(mode, reason)}
        return found


def beyond(gaps: Sequence[tuple[float, ...]], part: float) -> bool:
    """Say whether the candidate spends more beside its calls than the reference does, beyond noise.

    Args:
        gaps: what a block of the reference and one of the candidate spent there, seconds a call, by pair.
        part: how much more than the reference it may spend, as a part of what that one does; HIDDEN_PART.
    """
    own, mine = (stats.median([max(0.0, g[i]) for g in gaps]) for i in (0, 1))
    return mine - own > HIDDEN_S + part * own


def bounded(ratios: list[float], widen: float) -> Speed:
    """Return the interval of the outer clock's ratios, its high end no higher than the largest of them allows.

    A candidate that sleeps in some pairs, beside its own clock, would else widen the interval that binds it.
    """
    value, low, high = stats.log_interval(ratios, widen)
    return Speed(value, low, max(value, min(high, max(ratios) * math.exp(widen))))


def _bounds(speed: Speed | None) -> list[float] | None:
    return None if speed is None else [speed.low, speed.value, speed.high]


def _row(speed: Speed, ref_s: float, cand_s: float, pairs: int) -> dict[str, Any]:
    return {
        "speedup": speed.value,
        "speedup_lo": speed.low,
        "speedup_hi": speed.high,
        "pairs": pairs,
        "ref_us": ref_s * 1e6,
        "cand_us": cand_s * 1e6,
    }
