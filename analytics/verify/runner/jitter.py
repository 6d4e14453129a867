"""Inputs of other shapes and layouts than the problem draws. What fails on them is a badge, never a verdict.

A KernelBench problem promises one shape, so a kernel may be built for it; a reader should know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from . import tensors

if TYPE_CHECKING:
    from collections.abc import Callable

    from .problem import Problem

MAX_SIZES = 3
"""Sizes of the inputs that are varied, one at a time: the first tensor's dimensions first."""

MAX_BYTES = 256 << 20
"""Larger inputs are left alone."""

LAYOUTS = ("strided", "offset")
"""Every second element of its memory; one element behind an aligned address."""

Case = dict[str, Any]


def cases(problem: Problem, value: Any) -> list[Case]:
    """Return the cases that the reference itself can run.

    Args:
        problem: the reference.
        value: the recorded draw.
    """
    leaves = tensors.leaves(value)
    if not leaves or sum(t.numel() * t.element_size() for t in leaves) > MAX_BYTES:
        return []
    sizes: list[int] = []
    for tensor in leaves:
        sizes += [s for s in tensor.shape if s > 3 and s not in sizes]
    found = []
    for size in sizes[:MAX_SIZES]:
        for to in dict.fromkeys((size + 1, size - 1, prime_below(size - 1))):
            case = {"case": "shape", "size": size, "to": to}
            if _runs(problem, shaped(value, size, to)):
                found.append(case)
    return [*found, *({"case": name} for name in LAYOUTS if all(_plain(t) for t in leaves))]


def prime_below(size: int) -> int:
    """Return the largest prime below `size`, or 2.

    >>> prime_below(64), prime_below(16), prime_below(3)
    (61, 13, 2)
    """
    return next((n for n in range(size - 1, 2, -1) if all(n % d for d in range(2, int(n**0.5) + 1))), 2)


def shaped(value: Any, size: int, to: int) -> Any:
    """Return a copy in which every dimension of one size has another: cut, or filled up from its start."""
    out = []
    for tensor in tensors.leaves(value):
        new = tensor
        for dim, old in enumerate(tensor.shape):
            if old == size:
                new = new.index_select(dim, (torch.arange(to) % size).to(new.device))
        out.append(new.clone())
    return tensors.rebuild(value, out)


def _runs(problem: Problem, value: Any) -> bool:
    try:
        return all(bool(torch.isfinite(t).all()) for t in [*problem.run(value), *problem.truth(value)])
    except Exception:  # noqa: BLE001  foreign code raises what it likes
        # Whatever it raises: it does not take this shape.
        return False


def _plain(tensor: torch.Tensor) -> bool:
    return tensor.is_contiguous() and tensor.numel() > 1


def encode(value: Any, case: str, place: Callable[[torch.Tensor], int]) -> tensors.Spec:
    """Describe `value` in another layout; see tensors.encode."""
    spec = tensors.encode(value, lambda _: 0)
    leaves = iter(tensors.leaves(value))

    def lay(one: tensors.Spec) -> None:
        if one["t"] != "tensor":
            for each in one.get("items", []):
                lay(each)
            return
        flat = tensors.dense(next(leaves)).reshape(-1)
        step, start = (2, 0) if case == "strided" else (1, 1)
        memory = flat.new_zeros(step * flat.numel() + start)
        memory[start::step][: flat.numel()] = flat
        one.update(
            off=place(memory), stride=[step * s for s in one["stride"]], start=start, storage=int(memory.numel())
        )

    lay(spec)
    return spec
