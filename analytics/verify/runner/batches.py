"""Blocks of timed slots on the trusted side: fresh bytes for every slot, and every output judged.

A memo keyed on a hash of all input bytes was once confirmed at 2.81x over four rotating inputs; with
bytes that no slot has seen before it falls to what it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from . import errors, inputs, tensors, wire

if TYPE_CHECKING:
    from .oracle import Oracle

SAMPLED = 12
"""Slots of a block whose outputs get all three measures; the others get the whole-output one."""

REDRAWS = 64
"""Draws that are spent to find new inputs for a problem that takes integers alone."""


def fill(oracle: Oracle, m: dict[str, Any]) -> dict[str, Any]:
    """Write `count` slots of new inputs of the base draw's shapes into each named memory file.

    Returns:
        the description of one slot's arguments, and whether every slot differs.
    """
    problem, count, stride = oracle.problem, m["count"], m["stride"]
    generator = torch.Generator().manual_seed(m["seed"])
    base = problem.draw(m["base_seed"])
    base = tensors.rebuild(base, [tensors.dense(t) for t in tensors.leaves(base)])
    offset = 0
    offsets = []

    def place(tensor: torch.Tensor) -> int:
        nonlocal offset
        at = offset
        offsets.append(at)
        offset = wire.align(at + tensor.numel() * tensor.element_size())
        return at

    spec = tensors.encode(base, place)
    leaves = tensors.leaves(base)
    fresh = any(t.is_floating_point() and t.numel() for t in leaves)
    redrawn = None if fresh else _redraw(oracle, base, count, m["seed"])
    oracle.block = []
    for index, (leaf, at) in enumerate(zip(leaves, offsets, strict=True)):
        flat = leaf.as_strided((leaf.numel(),), (1,)) if leaf.numel() else leaf.reshape(-1)
        if leaf.is_floating_point():
            noise = torch.rand((count, leaf.numel()), generator=generator)
            block = (flat * (0.5 + 0.5 * noise)).to(leaf.dtype)
        elif redrawn:
            block = torch.stack([tensors.dense(tensors.leaves(v)[index]).reshape(-1) for v in redrawn])
        else:
            block = flat.repeat(count, 1)
        oracle.block.append((at, block))
        for name in m["to"]:
            _slots(oracle, name, oracle.slots_at + at, block, stride).copy_(block)
    return {"args": spec, "fresh": fresh or redrawn is not None}


def _redraw(oracle: Oracle, base: Any, count: int, seed: int) -> list[Any] | None:
    shape, found = inputs.shapes_of(base), []
    for i in range(REDRAWS):
        value = oracle.problem.draw((seed + i) % (1 << 62))
        if inputs.shapes_of(value) == shape:
            found.append(value)
    return [found[i % len(found)] for i in range(count)] if found else None


def _slots(oracle: Oracle, name: str, at: int, like: torch.Tensor, stride: int) -> torch.Tensor:
    """View one tensor of all slots as (count, elements)."""
    size = like.element_size()
    count, numel = like.shape
    total = (count - 1) * stride // size + numel
    if not numel:
        return torch.empty_like(like)
    flat = torch.frombuffer(oracle.memory[name], dtype=like.dtype, count=total, offset=at)
    return flat.as_strided((count, numel), (stride // size, 1))


def judge(oracle: Oracle, m: dict[str, Any]) -> dict[str, Any]:
    """Compare the candidate's outputs of a block with the reference's, and its inputs with what was written.

    Returns:
        `ok`, the number of calls judged, and for a refusal `what`, the slot and a witness.
    """
    count, shapes = m["count"], [list(t.shape) for t in oracle.case.expected]
    for index, (at, block) in enumerate(oracle.block):
        if oracle.mutable and oracle.mutable[index]:
            continue
        now = _slots(oracle, m["side"] + "_in", oracle.slots_at + at, block, m["stride"])
        if not torch.equal(now.contiguous().view(torch.uint8), block.view(torch.uint8)):
            return {"ok": False, "n": count, "what": "input_mutation", "witness": {"input": index, "timed": True}}
    offset = m["out"]
    for number, want in enumerate(oracle.timed_outputs):
        like = torch.empty((count, want.numel()), dtype=want.dtype)
        got = _slots(oracle, m["side"] + "_out", offset, like, m["out_stride"]).clone()
        ref = _slots(oracle, "ref_out", offset, like, m["out_stride"]).clone()
        bad = _first_bad(oracle, number, got, ref, want)
        if bad is not None:
            shape = want.shape
            other = _stale(got[bad], ref, bad)
            witness = {
                "timed": True,
                "slot": bad,
                "output": number,
                "input_shapes": oracle.timed_shapes,
                "output_shape": shapes[number] if number < len(shapes) else None,
                **errors.worst_place(got[bad].reshape(shape), ref[bad].reshape(shape)),
            }
            if other is not None:
                witness["answer_of_slot"] = other
            return {"ok": False, "n": count, "what": "stale" if other is not None else "wrong", "witness": witness}
        offset = wire.align(offset + want.numel() * want.element_size())
    return {"ok": True, "n": count}


def _first_bad(oracle: Oracle, number: int, got: torch.Tensor, ref: torch.Tensor, want: torch.Tensor) -> int | None:
    if not want.is_floating_point():
        same = (got == ref).all(1)
        return None if bool(same.all()) else int((~same).nonzero()[0])
    limit = oracle.judge_.limits[number]
    r, d = ref.double(), (got.double() - ref.double())
    apart = d.norm(dim=1) / r.norm(dim=1).clamp_min(errors.TINY)
    wrong = ~(apart <= limit.frobenius) & ~((got == ref) | (torch.isnan(got) & torch.isnan(ref))).all(1)
    if bool(wrong.any()):
        return int(wrong.nonzero()[0])
    step = max(1, len(got) // SAMPLED)
    for i in range(0, len(got), step):
        found = errors.measure(got[i].reshape(want.shape), ref[i].reshape(want.shape))
        # The truth behind both is not computed here: twice the budget for the two distances.
        if found.worst > 2 * limit.worst or found.row > 2 * limit.row:
            return i
    return None


def _stale(got: torch.Tensor, ref: torch.Tensor, slot: int) -> int | None:
    apart = (ref.double() - got.double()).norm(dim=1) / ref.double().norm(dim=1).clamp_min(errors.TINY)
    apart[slot] = float("inf")
    best = int(apart.argmin())
    return best if float(apart[best]) < 1e-3 else None
