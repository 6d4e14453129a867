"""Answers that rounding may turn into each other: ties, thresholds, sums that cancel.

A kernel that breaks a tie otherwise, or whose rounding carries a value across a threshold, is not wrong. Whether
an answer hangs on such a thing is found from the reference alone: it is run in fp64 on inputs and parameters that
are moved by a few units in the last place. What it answers there, it may be answered. A candidate has no say in
what the neighbours are, so nothing is accepted that the reference itself does not give within rounding.

All of this is computed only for an answer that the plain budget refuses.
"""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import errors, tensors

if TYPE_CHECKING:
    from .judge import Case
    from .problem import Problem

SCALES = (1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 8.0, 8.0)
"""Units in the last place by which inputs are moved, one neighbour each."""

UNIT = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
"""Half a unit in the last place, relative; 2^-24 for fp32 and wider types: a kernel may compute in fp32."""

BUDGET_S = 1.0
"""No further neighbour after this long."""

JUMP = 1e-3
"""An element that moves by more than this part of its size, or of its output's rms, hangs on rounding."""

MANY, FEW = 1e-3, 0.1
"""A bent input on which more than the first part of an output hangs on rounding asks nothing. Where more than the
second part of a drawn one does, the problem is ill-conditioned, and the budget on its own error serves."""


@dataclass
class Near:
    """What the reference answers next to one case."""

    around: list[list[torch.Tensor]]
    """Answers of the neighbours, nearest first."""
    choices: list[tuple[Choice, Choice]]
    """Choices that the reference made in its own type and in fp64."""

    def scale(self, number: int, want: torch.Tensor, truth: torch.Tensor) -> errors.Measure:
        """Return by how much output `number` moves when its inputs are rounded: the error no kernel is below."""
        found = errors.NONE
        for answers in self.around[: SCALES.count(SCALES[0])]:
            moves = torch.isfinite(want) & ~self._jumps(answers[number], truth)
            there = torch.where(moves, answers[number].to(truth.dtype), truth)
            found = found.joined(errors.measure(there, truth))
        return found

    def nearest(self, number: int, got: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
        """Return the truth, or a neighbour's answer where that one jumps and is nearer to what was given."""
        best, wide = truth, got.to(truth.dtype)
        for answers in self.around:
            other = answers[number].to(truth.dtype)
            closer = (wide - other).abs() < (wide - best).abs()
            best = torch.where(closer & self._jumps(other, truth), other, best)
        return best

    def same(self, number: int, got: torch.Tensor, allowed: list[torch.Tensor]) -> torch.Tensor:
        """Say for each element of a discrete output whether the reference gives it here or next to here."""
        good = torch.zeros(got.shape, dtype=torch.bool, device=got.device)
        for answer in [*allowed, *(a[number] for a in self.around)]:
            good |= got == answer.to(got.dtype)
        return good

    def chosen(self, want: torch.Tensor, got: torch.Tensor) -> bool:
        """Say whether an output of indices names places whose values are the right ones."""
        return any(
            own.index.shape == want.shape
            and torch.equal(own.index.to(want.dtype), want)
            and equally_good(own, exact, got)
            for own, exact in self.choices
        )

    def unstable(self, number: int, truth: torch.Tensor) -> torch.Tensor:
        """Say which elements of an output hang on rounding."""
        jumps = torch.zeros(truth.shape, dtype=torch.bool, device=truth.device)
        for answers in self.around:
            jumps |= self._jumps(answers[number], truth)
        return jumps

    @staticmethod
    def _jumps(answer: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
        if not truth.is_floating_point():
            return answer != truth
        size = torch.nan_to_num(truth.abs(), posinf=0.0)
        size = size + size.square().mean().sqrt()
        return ~((answer - truth).abs() <= JUMP * size) & ~(answer == truth)


def of(problem: Problem, case: Case) -> Near:
    """Find out what lies around a case."""
    generator = torch.Generator().manual_seed(problem.rng.getrandbits(60))
    around: list[list[torch.Tensor]] = []
    end = time.monotonic() + BUDGET_S
    exact = problem.truth_dtype == "float64"
    for scale in SCALES:
        value = tensors.rebuild(case.value, [_moved(t, scale, generator) for t in tensors.leaves(case.value)])
        model = copy.deepcopy(problem.exact if exact else problem.model)
        for parameter in model.parameters():
            parameter.data = _moved(parameter.data, scale, generator)
        try:
            answers = problem.run_wide(value, model) if exact else problem.run(value, model)
        except Exception:  # noqa: BLE001  foreign code raises what it likes
            break
        if [a.shape for a in answers] != [t.shape for t in case.truth]:
            break
        around.append(answers)
        if time.monotonic() > end:
            break
    try:
        own = choices_of(lambda: problem.run(case.value))
        wide = choices_of(lambda: problem.run_wide(case.value, problem.exact)) if exact else own
    except Exception:  # noqa: BLE001  foreign code raises what it likes
        own = wide = []
    return Near(around, list(zip(own, wide, strict=True)) if len(own) == len(wide) else [])


def _moved(tensor: torch.Tensor, scale: float, generator: torch.Generator) -> torch.Tensor:
    if not (tensor.is_floating_point() or tensor.is_complex()):
        return tensor
    unit = UNIT.get(tensor.dtype, 2.0**-24)
    noise = 2.0 * torch.rand(tensor.shape, generator=generator, dtype=torch.float64).to(tensor.device) - 1.0
    wide = tensor.to(torch.complex128 if tensor.is_complex() else torch.float64)
    moved = wide * (1.0 + 2.0 * scale * unit * noise)
    # fp64 keeps the move; a model without an fp64 path takes its own type.
    return (
        moved
        if tensor.dtype in (torch.float64, torch.complex128) or tensor.dtype not in UNIT
        else moved.to(tensor.dtype)
    )


# ---------------------------------------------------------------------- indices
@dataclass
class Choice:
    """One call that chose places along a dimension."""

    name: str
    values: torch.Tensor
    dim: int | None
    index: torch.Tensor
    stable: bool


CHOOSERS = {"sort": 1, "topk": 1, "max": 1, "min": 1, "kthvalue": 1, "median": 1, "argmax": 0, "argmin": 0}
"""Operations that return indices, and which of their results these are (0: the only one)."""

WITHOUT_REPEATS = ("sort", "topk")


class _Listen(TorchDispatchMode):
    """Notes every call that chooses."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Choice] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = func.overloadpacket.__name__
        if name in CHOOSERS and (CHOOSERS[name] == 0 or isinstance(out, (tuple, list))):
            given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | (kwargs or {})  # noqa: SLF001  the only place that knows the names
            index = out[1] if CHOOSERS[name] else out
            dim = given.get("dim", None if CHOOSERS[name] == 0 else -1)
            values = given.get("self", args[0])
            self.found.append(Choice(name, values.clone(), dim, index.clone(), bool(given.get("stable"))))
        return out


def choices_of(run: Any) -> list[Choice]:
    """Run something and return the choices it made, in order."""
    with _Listen() as heard:
        run()
    return heard.found


def equally_good(own: Choice, exact: Choice, got: torch.Tensor) -> bool:
    """Say whether `got` names, place by place, values as good as the chosen ones.

    Equal where the values came in as they are; where they were computed, within the budget on the reference's own
    error in them. A sort or a top-k names no place twice, and a stable sort leaves equal values in order.
    """
    dim = own.dim
    values, wide, index = own.values, exact.values, own.index
    if values.shape != wide.shape or not values.dim():
        return False
    if dim is None:
        values, wide, index, got, dim = values.reshape(-1), wide.reshape(-1), index.reshape(-1), got.reshape(-1), 0
    elif index.dim() < values.dim():
        index, got = index.unsqueeze(dim), got.unsqueeze(dim)
    got = got.to(torch.int64)
    if got.shape != index.shape or bool(((got < 0) | (got >= values.shape[dim])).any()):
        return False
    if own.name in WITHOUT_REPEATS:
        ordered = got.sort(dim).values
        if bool((ordered.diff(dim=dim) == 0).any()):
            return False
    error = float(torch.nan_to_num((values.to(wide.dtype) - wide).abs()).max()) if wide.is_floating_point() else 0.0
    there, right = wide.take_along_dim(got, dim), wide.take_along_dim(index, dim)
    good = (
        (there == right) | (torch.isnan(there) & torch.isnan(right))
        if error == 0.0
        else (there - right).abs() <= errors.FACTOR * error
    )
    if own.stable:
        good &= (got == index) | (values.take_along_dim(got, dim) != values.take_along_dim(index, dim))
    return bool(good.all())
