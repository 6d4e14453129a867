"""How far a result is from the truth, and which precision that distance belongs to.

Truth is the reference in fp64. The budget has no unit and no tolerance to choose: it is the error that
the reference itself makes in its own type, times a factor that was calibrated on honest kernels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

FACTOR = 32.0
"""Budget over the reference's own error for fp32 and fp64. Honest kernels (split-K, online softmax,
sequential sums, exp2) reached 20.8; a result times (1 + 1e-5) is at 84, tf32 above 65."""

FACTOR_HALF = 4.0
"""The same for 16-bit types: the one rounding of the output dominates both errors."""

FACTOR_CLASS = 16.0
"""Budget over the error of the reference emulated in a lower class."""

FLOOR = {torch.float64: 2.0**-50, torch.float32: 2.0**-23, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}
"""Smallest error that counts as the reference's own, by output type (one unit in the last place)."""

TINY = 1e-39
"""Absolute floor of every denominator: times the budget of fp32, three units of its smallest number. Outputs of
1e-38 are outputs: with a floor of 1e-30 zeros were as good."""

TINY_WIDE = 1e-300
"""The same for fp64."""

ROW_FLOOR = 1e-3
"""A row smaller than this part of the whole output's rms is judged against that part."""

MIN_ROW = 16
"""Trailing dimensions are joined until a row has this many elements: the worst relative error of a
single near-zero element says nothing."""

LOOSE = {"float64": 1e-4, "float32": 1e-2, "float16": 1e-2, "bfloat16": 1e-2}
"""The widest tolerance under which KernelBench-like suites ever passed a result (atol = rtol)."""

STRICT = 1e-4
"""KernelBench's own tolerance for fp32 today. 16-bit arithmetic inside an fp32 kernel has to be within it
to be more than wrong; tf32, which frameworks switch on for fp32 tensors on a GPU, within `LOOSE`."""

PEERS = {
    "kernelbench": (1e-4, 1e-2),
    "kernelbench_v0": (1e-2, 1e-2),
    "robust_kbench": (1e-5, 1e-2),
    "sol_execbench": (1e-2, 1e-2),
}
"""Tolerances (atol = rtol) of others for fp32 and for half types: what their rule would have said."""


@dataclass(frozen=True)
class Measure:
    """Three relative errors; all have to hold."""

    frobenius: float
    worst: float
    row: float

    def over(self, other: Measure, floor: float) -> float:
        """Return the largest ratio of this error to another, that one not below `floor`."""
        pairs = ((self.frobenius, other.frobenius), (self.worst, other.worst), (self.row, other.row))
        return max(a / max(b, floor) for a, b in pairs)

    def times(self, factor: float) -> Measure:
        """Return each times a factor."""
        return Measure(factor * self.frobenius, factor * self.worst, factor * self.row)

    def joined(self, other: Measure) -> Measure:
        """Return the larger of each."""
        return Measure(max(self.frobenius, other.frobenius), max(self.worst, other.worst), max(self.row, other.row))


NONE = Measure(0.0, 0.0, 0.0)
ALL = Measure(float("inf"), float("inf"), float("inf"))


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    length = 1
    for size in reversed(tensor.shape):
        length *= size
        if length >= MIN_ROW:
            return tensor.reshape(-1, length)
    return tensor.reshape(1, -1)


def settled(got: torch.Tensor, expected: torch.Tensor, truth: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (result, truth) in which the places where reference or truth is no number are decided already.

    There a result has to be what the reference gives, or the truth, or what the truth is in the result's type: 0
    stands for such a one in both, NaN for any other result. So a reference that overflows has a budget: that of the
    part in which it does not, where one infinite element would have made it infinite.
    """
    open_ = ~(torch.isfinite(expected) & torch.isfinite(truth))
    if not bool(open_.any()):
        return got, truth
    wide, good = got.to(truth.dtype), torch.zeros_like(open_)
    for other in (expected, truth, truth.to(got.dtype)):
        to = other.to(truth.dtype)
        near = (wide - to).abs() <= FACTOR * FLOOR.get(got.dtype, 2.0**-23) * to.abs()
        good |= torch.where(torch.isfinite(to), near, (wide == to) | (torch.isnan(wide) & torch.isnan(to)))
    return torch.where(open_, torch.where(good, 0.0, float("nan")), wide), torch.where(open_, 0.0, truth)


def measure(got: torch.Tensor, truth: torch.Tensor) -> Measure:
    """Return the errors of `got` against `truth` (same shape).

    frobenius = |c - t| / |t|; worst = max |c - t| / (|t| + rms of its row); row = the worst row's own
    frobenius. Where the truth is not finite the result must be the same kind at the same place.
    """
    if truth.numel() == 0:
        return NONE
    tiny = TINY_WIDE if got.dtype is torch.float64 else TINY
    wide = torch.complex128 if truth.is_complex() else torch.float64
    got, truth = got.to(wide), truth.to(wide)
    finite = torch.isfinite(truth)
    if not bool(finite.all()):
        same = torch.where(torch.isnan(truth), torch.isnan(got), got == truth) | finite
        if not bool(same.all()):
            return ALL
        got, truth = torch.where(finite, got, 0), torch.where(finite, truth, 0)
    if not bool(torch.isfinite(got).all()):
        return ALL
    t, d = _rows(truth.abs()), _rows((got - truth).abs())
    total = float(t.square().mean().sqrt())
    rms = t.square().mean(1, keepdim=True).sqrt().clamp_min(ROW_FLOOR * total)
    frobenius = float(d.norm()) / max(float(t.norm()), tiny)
    worst = float((d / (t + rms).clamp_min(tiny)).max())
    row = float((d.square().mean(1, keepdim=True).sqrt() / rms.clamp_min(tiny)).max())
    return Measure(frobenius, worst, row)


def measure_beside(got: torch.Tensor, expected: torch.Tensor, truth: torch.Tensor) -> Measure:
    """Return the errors of `got` against the truth of a reference that answered `expected`; see settled."""
    return measure(*settled(got, expected, truth))


def worst_place(got: torch.Tensor, truth: torch.Tensor) -> dict[str, object]:
    """Return index, expected and got of the element with the largest error, for a witness."""
    if truth.numel() == 0:
        return {}
    distance = (got.double() - truth.double()).abs()
    distance = torch.where(
        torch.isfinite(distance), distance, torch.where(torch.isfinite(truth.double()), float("inf"), 0.0)
    )
    flat = int(distance.reshape(-1).argmax())
    index, rest = [], flat
    for size in reversed(truth.shape):
        index.append(rest % size)
        rest //= size
    return {"index": index[::-1], "expected": _plain(truth.reshape(-1)[flat]), "got": _plain(got.reshape(-1)[flat])}


def _plain(value: torch.Tensor) -> object:
    number = value.item()
    if isinstance(number, float) and (not math.isfinite(number)):
        return str(number)
    return number


def rounded(tensor: torch.Tensor, name: str) -> torch.Tensor:
    """Round a floating tensor to a lower class and back; tf32 keeps ten bits of the mantissa."""
    if not tensor.is_floating_point():
        return tensor
    if name == "tf32":
        if tensor.dtype is not torch.float32:
            return tensor
        bits = tensor.contiguous().view(torch.int32)
        return ((bits + 0x1000) & ~0x1FFF).view(torch.float32)
    return tensor.to(getattr(torch, {"fp16": "float16", "bf16": "bfloat16"}[name])).to(tensor.dtype)


def would_pass(got: list[torch.Tensor], expected: list[torch.Tensor]) -> dict[str, bool]:
    """Say for each peer's tolerance whether it would have accepted these outputs."""
    verdict = {}
    for peer, (full, half) in PEERS.items():
        good = True
        for a, b in zip(got, expected, strict=True):
            tol = half if b.dtype in (torch.float16, torch.bfloat16) else full
            good &= a.shape == b.shape and bool(torch.allclose(a.double(), b.double(), rtol=tol, atol=tol))
        verdict[peer] = good
    return verdict
