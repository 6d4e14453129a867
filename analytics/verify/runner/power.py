"""Can this problem tell a kernel from none? Null kernels are judged by the same judge."""

from __future__ import annotations

from collections.abc import Callable

import torch

from . import inputs
from .judge import Case, Judge

Null = Callable[[int, list[Case]], list[torch.Tensor]]


def _constant(which: int, cases: list[Case]) -> list[torch.Tensor]:
    others = [c for i, c in enumerate(cases) if i != which]
    out = []
    for j, want in enumerate(cases[which].expected):
        mean = torch.stack([c.truth[j].double().mean() for c in others]).mean()
        out.append(torch.full_like(want, mean.item()) if want.is_floating_point() else torch.full_like(want, int(mean)))
    return out


NULLS: dict[str, Null] = {
    "zeros": lambda which, cases: [torch.zeros_like(t) for t in cases[which].expected],
    "ones": lambda which, cases: [torch.ones_like(t) for t in cases[which].expected],
    "constant": _constant,
    "other_seed": lambda which, cases: [t.clone() for t in cases[which - 1].expected],
}
"""Kernels that compute nothing. One that passes on every draw makes the problem degenerate."""


def degenerate(judge: Judge, cases: list[Case]) -> str | None:
    """Return the name of a null kernel that the judge accepts on every one of the cases, or None.

    Args:
        judge: the judge of this problem.
        cases: at least two held-out draws; those of another shape than the first are left out.
    """
    shape = inputs.shapes_of(cases[0].value)
    same = [c for c in cases if inputs.shapes_of(c.value) == shape]
    if len(same) < 2:
        return None
    for name, make in NULLS.items():
        try:
            if all(judge.accept(case, make(i, same))[0] for i, case in enumerate(same)):
                return name
        except (RuntimeError, TypeError):
            continue
    return None
