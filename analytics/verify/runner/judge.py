"""The judge: raw bytes of one call against the truth, on the trusted side."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from . import errors, neighbours, tensors, wire

if TYPE_CHECKING:
    from .problem import Form, Problem

CLASSES = ("tf32", "fp16", "bf16")
"""Lower precision classes, finest first."""

TAIL = 4.0
"""Timed answers of a lower class may be off by this many times what was seen before."""

HISTORY = 48
"""Earlier answers that a wrong one is compared with, to tell a replay from a mistake."""

HISTORY_BYTES = 1 << 30
"""Bytes that they may take."""


@dataclass
class Case:
    """One prepared call: what went in, and what has to come out."""

    number: int
    gate: str
    label: str
    value: Any
    spec: tensors.Spec
    expected: list[torch.Tensor]
    truth: list[torch.Tensor]
    own: list[errors.Measure] = field(default_factory=list)
    mutable: list[bool] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    near: neighbours.Near | None = None
    """What lies around this case; found when it is first asked for."""

    @property
    def shapes(self) -> list[list[int]]:
        """Shapes of the input tensors."""
        return [list(t.shape) for t in tensors.leaves(self.value)]


def floor_of(problem: Problem, tensor: torch.Tensor) -> float:
    """Return the smallest error that counts as the reference's own for this output."""
    floor = errors.FLOOR.get(tensor.dtype, 2.0**-23)
    # Without an fp64 path the "truth" is the reference itself: allow its unknown error.
    return floor if problem.truth_dtype == "float64" else max(floor, 1e-6)


def factor_of(tensor: torch.Tensor) -> float:
    """Return the budget's factor for this output type."""
    return errors.FACTOR_HALF if tensor.dtype in (torch.float16, torch.bfloat16) else errors.FACTOR


def _within(got: torch.Tensor, want: torch.Tensor, tolerance: float) -> bool:
    return bool(torch.allclose(got.double(), want.double(), rtol=tolerance, atol=tolerance, equal_nan=True))


class Judge:
    """Holds what one candidate process has been asked, and decides each answer."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.history: list[Case] = []
        self.before: list[torch.Tensor] = []
        self.ratio = 0.0
        self.klass = "own"
        self.limits: list[errors.Measure] = []
        self.peers: dict[str, bool] = {}
        self.calls = 0
        self.ties = False
        """Whether an answer was accepted that breaks a tie otherwise than the reference."""
        self.table: dict[str, dict[str, float]] = {}

    def forget(self) -> None:
        """A fresh candidate process starts: it cannot replay what another was asked."""
        self.history.clear()
        self.before = []

    # ------------------------------------------------------------------ structure
    def structure(self, case: Case, outputs: list[dict[str, Any]]) -> tuple[str, dict[str, Any]] | None:  # noqa: PLR0911  one return a finding
        """Return (what is wrong, witness) for a result of the wrong form, else None."""
        want = [{"dtype": form.dtype, "shape": form.shape} for form in case.forms]
        got = [{"dtype": o["dtype"], "shape": list(o["shape"])} for o in outputs]
        witness = {"input_shapes": case.shapes, "expected": want, "got": got, "call": case.number}
        for out in outputs:
            if not out["flags"] & wire.EXACT_TENSOR:
                what = "not a tensor" if out["flags"] & wire.NOT_A_TENSOR else "a subclass of torch.Tensor"
                return ("type", {**witness, "got": what})
        if len(got) != len(want):
            return ("count", witness)
        for out, one, other, form in zip(outputs, got, want, case.forms, strict=True):
            if out["flags"] & wire.NOT_STRIDED:
                return ("layout", {**witness, "got": "not a strided tensor"})
            if one["shape"] != other["shape"]:
                return ("shape", witness)
            if one["dtype"] != other["dtype"]:
                return ("dtype", witness)
            if not out["flags"] & wire.ON_DEVICE:
                return ("device", {**witness, "got": "a tensor on another device"})
            if out["flags"] & wire.STRIDE_ZERO and not form.expanded:
                return ("stride", {**witness, "got": "an expanded tensor (stride 0)"})
        return None

    # ------------------------------------------------------------------ values
    def accept(self, case: Case, got: list[torch.Tensor]) -> tuple[bool, float, str]:
        """Return whether the values are right, the error over the budget's base, and the precision class."""
        worst, lower = 0.0, False
        for number, (out, want) in enumerate(zip(got, case.expected, strict=True)):
            if not want.is_floating_point():
                if not self._discrete(case, number, out):
                    return False, float("inf"), "lower"
                continue
            ratio = self._ratio(case, number, out)
            worst = max(worst, ratio / factor_of(want) * errors.FACTOR)
            lower = lower or ratio > factor_of(want)
        return self._lower(case, got, worst) if lower else (True, worst, "own")

    def _around(self, case: Case) -> neighbours.Near:
        if case.near is None:
            case.near = neighbours.of(self.problem, case)
        return case.near

    def _discrete(self, case: Case, number: int, out: torch.Tensor) -> bool:
        """Say whether an output of integers or truth values is right; rounding may decide ties and thresholds."""
        want, truth = case.expected[number], case.truth[number]
        if torch.equal(out, want) or (out.shape == truth.shape and torch.equal(out.to(truth.dtype), truth)):
            return True
        near = self._around(case)
        good = bool(near.same(number, out, [want, truth]).all()) or near.chosen(want, out)
        self.ties = self.ties or good
        return good

    def _ratio(self, case: Case, number: int, out: torch.Tensor) -> float:
        """Return the error over the reference's own; of a result beyond the budget, over what rounding brings here."""
        want, truth, own = case.expected[number], case.truth[number], case.own[number]
        floor = floor_of(self.problem, want)
        ratio = errors.measure_beside(out, want, truth).over(own, floor)
        if ratio <= factor_of(out):
            return ratio
        near = self._around(case)
        found = errors.measure_beside(out, want, near.nearest(number, out, truth))
        return found.over(own.joined(near.scale(number, want, truth)), floor)

    def hangs_on_rounding(self, case: Case, got: list[torch.Tensor]) -> bool:
        """Say whether a refused answer is wrong only at a few elements, at which the reference's own hangs on rounding.

        On a bent input it is enough that many elements do: a sweep that makes ties asks nothing then.
        """
        near, settled = self._around(case), []
        for number, (out, truth, want) in enumerate(zip(got, case.truth, case.expected, strict=True)):
            unstable = near.unstable(number, truth)
            share = float(unstable.double().mean()) if unstable.numel() else 0.0
            if case.gate == "G3" and share > neighbours.MANY:
                return True
            settled.append(torch.where(unstable, want, out) if share <= neighbours.FEW else out)
        return any(not torch.equal(a, b) for a, b in zip(settled, got, strict=True)) and self.accept(case, settled)[0]

    def _lower(self, case: Case, got: list[torch.Tensor], worst: float) -> tuple[bool, float, str]:
        for out, want in zip(got, case.expected, strict=True):
            tol = errors.LOOSE.get(str(want.dtype).removeprefix("torch."), 1e-2)
            if not _within(out, want, tol):
                return False, worst, "lower"
        own = str(case.expected[0].dtype)
        strict = all(_within(out, want, errors.STRICT) for out, want in zip(got, case.expected, strict=True))
        for name in CLASSES:
            if own in ("torch.float16", "torch.bfloat16"):
                break
            # No CPU computes in tf32: an error of that size is a 16-bit type's there.
            if not strict and (name != "tf32" or self.problem.device == "cpu"):
                continue
            try:
                low = self.problem.emulate(case.value, name)
            except Exception:  # noqa: BLE001, S112  foreign code raises what it likes
                continue
            good = True
            for out, want, truth, emulated, one in zip(got, case.expected, case.truth, low, case.own, strict=True):
                if not out.is_floating_point():
                    continue
                scale = errors.measure_beside(emulated.to(out.dtype), want, truth).joined(one)
                found = errors.measure_beside(out, want, truth).over(scale, floor_of(self.problem, out))
                # Where the reference itself overflows or vanishes in a class, zeros would belong to that one.
                bounds = errors.FACTOR_CLASS * scale.frobenius < 1.0
                good = good and bounds and found <= errors.FACTOR_CLASS
            if good:
                return True, worst, name
        return False, worst, "lower"

    def judge(self, case: Case, got: list[torch.Tensor], *, repeat: bool) -> dict[str, Any]:
        """Decide the values of one call and remember it."""
        self.calls += 1
        good, ratio, klass = self.accept(case, got)
        if not good and self.hangs_on_rounding(case, got):
            # On a bent input that is the sweep's doing; on a drawn one the problem's: nobody is right or wrong there.
            return {
                "ok": case.gate == "G3",
                "hangs": case.gate != "G3",
                "witness": {"input_shapes": case.shapes, "call": case.number, "case": case.label},
            }
        result: dict[str, Any] = {"ok": good, "ratio": ratio, "class": klass}
        if not self.peers or good:
            said = errors.would_pass(got, case.expected)
            self.peers = {k: v and self.peers.get(k, True) for k, v in said.items()}
        self._note(case, got)
        if good:
            self.ratio = max(self.ratio, ratio)
            order = ("own", *CLASSES)
            self.klass = max(self.klass, klass, key=order.index)
            self._widen(case, got)
            if repeat and self.before:
                result["spread"] = self._spread(case, got)
        else:
            replayed = self._replays(case, got)
            result["replays"] = replayed.number if replayed else None
            bad = next((i for i, (a, t) in enumerate(zip(got, case.truth, strict=True)) if self._off(a, t)), 0)
            place = errors.worst_place(got[bad], case.truth[bad]) if got[bad].shape == case.truth[bad].shape else {}
            result["witness"] = {
                "input_shapes": case.shapes,
                "call": case.number,
                "case": case.label,
                "output": bad,
                **place,
                "error_over_budget": None if ratio == float("inf") else round(ratio / errors.FACTOR, 3),
            }
            if replayed:
                result["witness"]["answer_of_call"] = replayed.number
        self.before = got
        size = sum(t.numel() * t.element_size() for t in [*case.expected, *case.truth])
        keep = max(4, min(HISTORY, HISTORY_BYTES // max(size, 1)))
        self.history = [*self.history[-keep:], case]
        return result

    def _off(self, got: torch.Tensor, truth: torch.Tensor) -> bool:
        return errors.measure(got, truth).frobenius > 1e-6

    def _note(self, case: Case, got: list[torch.Tensor]) -> None:
        row = self.table.setdefault(case.label, {"reference": 0.0, "candidate": 0.0, "n": 0})
        row["n"] += 1
        for out, want, truth, own in zip(got, case.expected, case.truth, case.own, strict=True):
            if out.is_floating_point():
                found = errors.measure_beside(out, want, truth)
                row["candidate"] = max(row["candidate"], min(found.worst, 1e30))
                row["reference"] = max(row["reference"], own.worst)

    def _widen(self, case: Case, got: list[torch.Tensor]) -> None:
        """Keep the widest budget that was in force, for the timed calls that are judged against the reference."""
        limits = []
        for out, want, truth, own in zip(got, case.expected, case.truth, case.own, strict=True):
            floor = floor_of(self.problem, out)
            factor = factor_of(out) + 1.0
            base = errors.Measure(*(factor * max(v, floor) for v in (own.frobenius, own.worst, own.row)))
            # The few calls so far do not show the tail of a lower class.
            seen = errors.measure_beside(out, want, truth).times(1.0 if self.klass == "own" else TAIL)
            limits.append(base.joined(seen) if out.is_floating_point() else errors.NONE)
        if case.gate != "G3":
            self.limits = [a.joined(b) for a, b in zip(self.limits, limits, strict=True)] if self.limits else limits

    def _spread(self, case: Case, got: list[torch.Tensor]) -> float:
        worst = 0.0
        for now, old, truth, own in zip(got, self.before, case.truth, case.own, strict=True):
            if now.shape != old.shape or torch.equal(now, old) or not now.is_floating_point():
                worst = max(worst, 0.0 if now.shape == old.shape and torch.equal(now, old) else float("inf"))
                continue
            apart = float((now.double() - old.double()).norm()) / max(float(truth.double().norm()), errors.TINY)
            worst = max(worst, apart / max(own.frobenius, 4 * floor_of(self.problem, now)))
        return worst

    def _replays(self, case: Case, got: list[torch.Tensor]) -> Case | None:
        """Return the earlier call whose answer this is, if it is one and differs from the right one."""
        for old in reversed(self.history):
            if [t.shape for t in old.truth] != [t.shape for t in got]:
                continue
            near = all(self._near(g, t, w) for g, t, w in zip(got, old.truth, old.expected, strict=True))
            apart = any(not self._near(a, b, w) for a, b, w in zip(case.truth, old.truth, old.expected, strict=True))
            if near and apart:
                return old
        return None

    def _near(self, got: torch.Tensor, truth: torch.Tensor, want: torch.Tensor) -> bool:
        if not want.is_floating_point():
            return bool(torch.equal(got.to(want.dtype), want))
        return errors.measure_beside(got, want, truth).frobenius <= 1e-2 and bool(truth.double().abs().max() > 0)
