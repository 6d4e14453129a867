"""Blocks of timed slots on the trusted side: fresh bytes for every slot, and every output judged.

A memo keyed on a hash of all input bytes was once confirmed at 2.81x over four rotating inputs; with
bytes that no slot has seen before it falls to what it is. `chain` ties each slot to the answer before
it; this side follows the chain from the bytes that came back and asks the reference about each.
All of it happens on the device of the run.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import torch

from . import chain, errors, inputs, tensors, wire

if TYPE_CHECKING:
    from .oracle import Oracle

SAMPLED = 12
"""Slots of a block whose outputs get all three measures; the others get the whole-output one."""

REDRAW_S = 0.2
"""Seconds a block may spend on drawing inputs; slots that got none of their own take another's."""

CLOSER = 0.1
"""A wrong answer is an early one when it is so much nearer to the right one of the input as it was before."""

RECONSIDERED = 16
"""Refused answers of a block that are judged again by all rules: rounding may have decided a tie or a threshold."""

SAME = 1e-3
"""A wrong answer this close to another slot's right one is that one."""


def fill(oracle: Oracle, m: dict[str, Any]) -> dict[str, Any]:
    """Make `count` slots of new inputs of the base draw's shapes.

    On the CPU they are written into each named memory file, so that addresses stay while bytes change. On
    a GPU (`seeded`) a worker makes the same bytes from the block's seed, which it is told when the block
    begins; only the base draw is written, for the workers in `base_to`.

    Returns:
        the description of one slot's arguments, whether every slot differs, and whether a worker makes them.
    """
    problem, count, stride = oracle.problem, m["count"], m["stride"]
    device = problem.device
    generator = torch.Generator(device).manual_seed(m["seed"])
    if oracle.base_seed != m["base_seed"]:
        drawn = problem.draw(m["base_seed"])
        oracle.base = tensors.rebuild(drawn, [tensors.dense(t) for t in tensors.leaves(drawn)])
        oracle.base_seed = m["base_seed"]
    base = oracle.base
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
    floats = [t.is_floating_point() for t in leaves if t.numel()]
    seeded = m["seeded"] and any(floats)
    # What the slots have in common (signs and zeros of one draw, its integers) can be learned from the first of them.
    redrawn = None if seeded else _redraw(oracle, base, count, m["seed"])
    fresh = all(floats) or bool(redrawn)
    oracle.block, oracle.block_base, oracle.block_seed = [], base, m["seed"] if seeded else None
    for index, (leaf, at) in enumerate(zip(leaves, offsets, strict=True)):
        flat = (leaf.as_strided((leaf.numel(),), (1,)) if leaf.numel() else leaf.reshape(-1)).to(device)
        if redrawn:
            rows = torch.stack([_memory(tensors.leaves(v)[index]) for v in redrawn]).to(device)
            block = rows[torch.arange(count, device=device) % len(rows)]
            if len(rows) < count and leaf.is_floating_point():
                noise = torch.rand(block[len(rows) :].shape, generator=generator, device=device)
                block[len(rows) :] *= (0.5 + 0.5 * noise).to(block.dtype)
        else:
            block = flat[None] if seeded else chain.fresh(flat, count, generator)
        oracle.block.append((at, block))
        for name in m["to"] if not seeded else ():
            _slots(oracle, name, oracle.slots_at + at, block, stride).copy_(block)
    for name in m["base_to"] if seeded else ():
        for leaf, at in zip(leaves, offsets, strict=True):
            oracle.write(name, oracle.slots_at + at, leaf)
    return {"args": spec, "fresh": fresh, "seeded": seeded}


def _redraw(oracle: Oracle, base: Any, count: int, seed: int) -> list[Any]:
    """Draw up to `count` inputs of the base draw's shapes, as many as the time allows."""
    shape, found, end = inputs.shapes_of(base), [], time.monotonic() + REDRAW_S
    strides = [_strides(t) for t in tensors.leaves(base)]
    for i in range(4 * count):
        value = oracle.problem.draw((seed + i) % (1 << 62))
        if inputs.shapes_of(value) == shape and [_strides(t) for t in tensors.leaves(value)] == strides:
            found.append(value)
        if len(found) == count or time.monotonic() > end:
            break
    return found


def _memory(tensor: torch.Tensor) -> torch.Tensor:
    """Return the elements in the order in which `dense` lays them out."""
    flat = tensors.dense(tensor)
    return flat.as_strided((flat.numel(),), (1,)) if flat.numel() else flat.reshape(-1)


def _strides(tensor: torch.Tensor) -> tuple[int, ...]:
    return torch.empty_like(tensor, device="meta").stride()


def _slots(oracle: Oracle, name: str, at: int, like: torch.Tensor, stride: int) -> torch.Tensor:
    """View one tensor of all slots as (count, elements)."""
    size = like.element_size()
    count, numel = like.shape
    total = (count - 1) * stride // size + numel
    if not numel:
        return torch.empty(like.shape, dtype=like.dtype)
    flat = torch.frombuffer(oracle.memory[name], dtype=like.dtype, count=total, offset=at)
    return flat.as_strided((count, numel), (stride // size, 1))


def judge(oracle: Oracle, m: dict[str, Any]) -> dict[str, Any]:
    """Compare the candidate's outputs of a block with the reference's, and its inputs with what was written.

    Returns:
        `ok`, the number of calls judged, and for a refusal `what`, the slot and a witness.
    """
    slots, device, seeded = m["slots"], oracle.problem.device, oracle.block_seed is not None
    count = len(slots)
    got, offset = [], m["out"]
    for want in oracle.timed_outputs:
        like = torch.empty((count, want.numel()), dtype=want.dtype)
        got.append(_slots(oracle, "cand_out", offset, like, m["out_stride"]).clone().to(device))
        offset = wire.align(offset + want.numel() * want.element_size())
    digests = chain.digests(got)
    raw = bytearray(oracle.memory["cand_out"][m["digests"] : m["digests"] + 8 * m["count"]])
    told = torch.frombuffer(raw, dtype=torch.int64)
    late = (told.to(device)[slots] != digests).tolist()
    # What the reply was bound to, whatever has been written since.
    if any(late) or list(chain.committed(bytes(raw))) != m["bound"]:
        slot = slots[late.index(True)] if any(late) else None
        witness = {"timed": True, "slot": slot, "answer_changed_after_the_block": True}
        return {"ok": False, "n": count, "what": "deferred", "witness": witness}
    digests = told.to(device)
    factors = chain.factors(digests, m["salt"])[slots]
    chosen = _drawn(oracle, digests, slots) if seeded else [(at, block[slots]) for at, block in oracle.block]
    bent = _follow(chosen, factors)
    right = _answers(oracle, bent, count)
    wrong, spared = _compare(oracle, got, right, chosen), 0
    while (
        wrong
        and spared < RECONSIDERED
        and oracle.reconsider(_slot(oracle, bent, wrong["slot"]), [g[wrong["slot"]] for g in got])
    ):
        for one, other in zip(got, right, strict=True):
            one[wrong["slot"]] = other[wrong["slot"]]
        wrong, spared = _compare(oracle, got, right, chosen), spared + 1
    if wrong:
        return wrong | {"n": count}
    if m["inputs"]:
        for index, (at, block) in enumerate(bent):
            now = _slots(oracle, "cand_in", oracle.slots_at + at, block, m["stride"])
            mutable = bool(oracle.mutable) and oracle.mutable[index]
            if not mutable and not torch.equal(now.contiguous().view(torch.uint8), block.view(torch.uint8)):
                return {"ok": False, "n": count, "what": "input_mutation", "witness": {"input": index, "timed": True}}
    return {"ok": True, "n": count}


def _slot(oracle: Oracle, blocks: Block, slot: int) -> Any:
    """Return one slot's inputs as the worker had them."""
    leaves = tensors.leaves(oracle.block_base)
    given = [b[slot].as_strided(t.shape, t.stride()) for (_, b), t in zip(blocks, leaves, strict=True)]
    return tensors.rebuild(oracle.block_base, given)


Block = list[tuple[int, torch.Tensor]]
"""Offset and (slots, elements) of each input tensor."""


def _drawn(oracle: Oracle, digests: torch.Tensor, slots: list[int]) -> Block:
    """Draw the bytes of these slots as the worker drew them, each from the answer before it."""
    before = [0, *digests.tolist()]
    rows: list[list[torch.Tensor]] = [[] for _ in oracle.block]
    for i in slots:
        seed = chain.slot_seed(oracle.block_seed or 0, before[i], i)
        generator = torch.Generator(oracle.problem.device).manual_seed(seed)
        for drawn, (_, base) in zip(rows, oracle.block, strict=True):
            drawn.append(chain.fresh(base[0], 1, generator)[0])
    return [(at, torch.stack(drawn)) for (at, _), drawn in zip(oracle.block, rows, strict=True)]


def _follow(blocks: Block, factors: torch.Tensor) -> Block:
    """Return the inputs as the worker had them in front of each call."""
    bent = []
    for at, block in blocks:
        moved = block.clone()
        if block.is_floating_point() and block.element_size() > 1 and block.shape[1]:
            part = moved[:, :: chain.stride_of(block.shape[1])]
            part.mul_(factors[:, None].to(block.dtype))
        bent.append((at, moved))
    return bent


def _answers(oracle: Oracle, blocks: Block, count: int) -> list[torch.Tensor]:
    """Ask the reference about every slot: one (count, elements) tensor an output."""
    leaves = tensors.leaves(oracle.block_base)
    rows: list[list[torch.Tensor]] = []
    for i in range(count):
        given = [b[i].as_strided(t.shape, t.stride()) for (_, b), t in zip(blocks, leaves, strict=True)]
        if any(oracle.mutable):
            given = [t.clone() for t in given]
        out = oracle.problem.model(*tensors.rebuild(oracle.block_base, given))
        rows.append([t.reshape(-1).clone() for t in tensors.answers(out, oracle.problem.device)])
    return [torch.stack(column) for column in zip(*rows, strict=True)]


def _compare(
    oracle: Oracle, got: list[torch.Tensor], right: list[torch.Tensor], blocks: Block
) -> dict[str, Any] | None:
    for number, want in enumerate(oracle.timed_outputs):
        bad = _first_bad(oracle, number, got[number], right[number], want)
        if bad is None:
            continue
        shape = want.shape
        witness: dict[str, Any] = {
            "timed": True,
            "slot": bad,
            "output": number,
            "input_shapes": oracle.timed_shapes,
            "output_shape": list(shape),
            **errors.worst_place(got[number][bad].reshape(shape).cpu(), right[number][bad].reshape(shape).cpu()),
        }
        what = "wrong"
        # The slots' own bytes, without the part that hangs on the answer before: an answer to those was
        # computed before its input was whole.
        early = _answers(oracle, [(a, b[bad : bad + 1]) for a, b in blocks], 1)[number][0]
        if _distance(got[number][bad], early) < CLOSER * _distance(got[number][bad], right[number][bad]):
            what = "deferred"
            witness["answer_before_input_was_whole"] = True
        elif (other := _stale(got[number][bad], right[number], bad)) is not None:
            what = "stale"
            witness["answer_of_slot"] = other
        return {"ok": False, "what": what, "witness": witness, "slot": bad}
    return None


def _first_bad(oracle: Oracle, number: int, got: torch.Tensor, ref: torch.Tensor, want: torch.Tensor) -> int | None:
    if not want.is_floating_point():
        same = (got == ref).all(1)
        return None if bool(same.all()) else int((~same).nonzero()[0])
    limit = oracle.judge_.limits[number]
    # Where the reference overflows, the same has to stand; the norms are those of the rest.
    finite = torch.isfinite(ref)
    alike = finite | (got == ref) | (torch.isnan(got) & torch.isnan(ref))
    r, d = torch.where(finite, ref.double(), 0.0), torch.where(finite, got.double() - ref.double(), 0.0)
    apart = d.norm(dim=1) / r.norm(dim=1).clamp_min(errors.TINY)
    wrong = ~(alike.all(1) & (apart <= limit.frobenius))
    if bool(wrong.any()):
        return int(wrong.nonzero()[0])
    step = max(1, len(got) // SAMPLED)
    for i in range(0, len(got), step):
        found = errors.measure(got[i].reshape(want.shape), ref[i].reshape(want.shape))
        # The truth behind both is not computed here: twice the budget for the two distances.
        if found.worst > 2 * limit.worst or found.row > 2 * limit.row:
            return i
    return None


def _distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a.double() - b.double()).norm() / b.double().norm().clamp_min(errors.TINY))


def _stale(got: torch.Tensor, ref: torch.Tensor, slot: int) -> int | None:
    apart = (ref.double() - got.double()).norm(dim=1) / ref.double().norm(dim=1).clamp_min(errors.TINY)
    apart[slot] = float("inf")
    best = int(apart.argmin())
    return best if float(apart[best]) < SAME else None
