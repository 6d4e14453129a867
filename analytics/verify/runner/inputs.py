"""Inputs for the challenges: as the problem draws them, and bent in ways that keep their structure.

A sweep that breaks structure refuses honest kernels: a triangular product may skip the zeros, a kernel
for probabilities may assume [0, 1]. So zeros stay zeros, signs stay signs, a range of [0, 1] stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from . import tensors

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

DRAWS = 200
"""Draws to find the shapes: 96 miss one of 16 shapes in 3 % of sessions, 200 in 0.005 %."""

DRAW_BUDGET_S = 1.5
"""Stop drawing after this long, once there were MIN_DRAWS."""

MIN_DRAWS = 8
"""Fewest held-out draws that are judged."""

MAX_SHAPES = 16
"""Up to this many drawn shapes are all judged; of more, a random choice of this many."""


def shapes_of(value: Any) -> tuple[tuple[int, ...], ...]:
    """Return the shapes of all tensors of an input list: what "the drawn shape" means."""
    return tuple(tuple(t.shape) for t in tensors.leaves(value))


def bend(value: Any, case: str, rng: random.Random, generator: torch.Generator) -> Any:
    """Return a copy of the inputs with every floating tensor bent by one case of the sweep."""
    bent = []
    for tensor in tensors.leaves(value):
        bent.append(  # noqa: PERF401  reads better as a loop
            _bend(tensor, case, rng, generator) if tensor.is_floating_point() and tensor.numel() else tensor.clone()
        )
    return tensors.rebuild(value, bent)


def _bend(tensor: torch.Tensor, case: str, rng: random.Random, generator: torch.Generator) -> torch.Tensor:
    x = tensor.float()
    low, high = float(x.min()), float(x.max())
    unit = low >= 0.0 and high <= 1.0
    signed = low < 0.0 < high
    noise = torch.rand(x.shape, generator=generator).to(x.device)
    if case == "scaled_up":
        y = x * (rng.uniform(0.3, 0.9) if unit else 2.0 ** rng.uniform(1.5, 4.0))
    elif case == "scaled_down":
        y = x * 2.0 ** -rng.uniform(2.0, 6.0)
    elif case == "heavy_tail":
        y = x * torch.exp(rng.uniform(0.8, 1.2) * (torch.randn(x.shape, generator=generator).to(x.device)))
    elif case == "flat":
        # Uniform magnitudes, the signs and zeros as they were.
        y = torch.sign(x) * noise * (high if unit else max(abs(low), abs(high)) * 0.5)
    elif case == "suffix_amplified":
        flat = x.reshape(-1).clone()
        cut = rng.randrange(flat.numel() // 4, max(flat.numel() // 4 + 1, flat.numel()))
        flat[cut:] *= 0.25 if unit else 2.0 ** rng.uniform(2.0, 5.0)
        y = flat.reshape(x.shape)
    elif case == "last_spike":
        y = x.clone()
        last = y.reshape(-1, y.shape[-1]) if y.dim() else y.reshape(1, 1)
        factor = 0.5 if unit else 2.0 ** rng.uniform(3.0, 5.0)
        last[:, -1] *= factor
        last[-1, :] *= factor
    elif case == "clustered":
        # Values close together around one magnitude: thresholds tuned to a normal distribution break.
        y = torch.sign(x) * (0.5 + 0.01 * noise)
    elif signed:
        y = torch.sign(x) * (noise < 0.5)
    else:
        y = x * (0.25 + 0.75 * noise)
    if unit:
        y = y.clamp(0.0, 1.0)
    return y.to(tensor.dtype)


def sparse(value: Any, case: str, rng: random.Random) -> Any:
    """Return a copy with a few elements changed: enough to change the answer, few enough to miss a sampled hash.

    Args:
        value: the inputs of the call before.
        case: `blocks` changes one element in each 256; `window` a short random run; `tail` the last elements.
        rng: where to change them.
    """
    out = []
    for tensor in tensors.leaves(value):
        copy = tensor.clone(memory_format=torch.contiguous_format)
        if copy.is_floating_point() and copy.numel():
            flat = copy.view(-1)
            n = flat.numel()
            if case == "blocks":
                where = [min(n - 1, start + rng.randrange(256)) for start in range(0, n, 256)]
            elif case == "window":
                start = rng.randrange(n)
                where = list(range(start, min(n, start + max(1, n // 64))))
            else:
                where = list(range(n - max(1, n // 32), n))
            index = torch.tensor(where, device=flat.device)
            unit = bool((flat >= 0).all() & (flat <= 1).all())
            flat[index] = flat[index] * 0.25 if unit else flat[index] * 4.0
        out.append(copy)
    return tensors.rebuild(value, out)


def fresh(value: Any, generator: torch.Generator) -> tuple[Any, bool]:
    """Return new bytes of the same shape and structure for a timed slot, and whether anything changed."""
    changed, out = False, []
    for tensor in tensors.leaves(value):
        if tensor.is_floating_point() and tensor.numel():
            noise = torch.rand(tensor.shape, generator=generator)
            out.append((tensor * (0.5 + 0.5 * noise)).to(tensor.dtype))
            changed = True
        else:
            out.append(tensor)
    return tensors.rebuild(value, out), changed


def choose_draws(found: dict[tuple, list[int]], rng: random.Random, extra: Callable[[], int]) -> list[int]:
    """Choose the seeds of the held-out draws: every shape once, at least MIN_DRAWS in all.

    Args:
        found: drawn shapes -> seeds that drew them.
        rng: the session's secret generator.
        extra: returns a new seed of any shape.
    """
    shapes = list(found)
    if len(shapes) > MAX_SHAPES:
        shapes = rng.sample(shapes, MAX_SHAPES)
    seeds = [rng.choice(found[s]) for s in shapes]
    rng.shuffle(seeds)
    while len(seeds) < MIN_DRAWS:
        seeds.append(extra())
    return seeds
