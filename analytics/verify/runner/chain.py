"""The chain through a block of timed calls: the inputs of a call depend on the answer before it.

On a GPU the bytes of a call's inputs are drawn from the answer before it (`slot_seed`): nothing of them is known
while the call in front runs. On the CPU, and for inputs of integers alone, they stand there from the block's
beginning. On both some elements are then multiplied by a factor that is made from the same answer, on a GPU behind
the flush: for a linear kernel that alone would be little, since it can work on both parts ahead.

Both ends use these functions: the worker on the memory it times in, the oracle on the bytes that came
back. The factor has eight significant bits, so it is exact in every floating type, and a product with
it rounds alike on a CPU and a GPU. Zeros, signs and a range of [0, 1] stay what they are.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    import mmap
    from collections.abc import Sequence

DENSE, SPARSE, LARGE = 31, 257, 1 << 16
"""One element in 31 of a tensor below 65,536 elements changes, else one in 257: few enough to leave a
large input out of the cache that was just flushed. Primes, so that all columns are met."""

MULTIPLIER, SHIFT, MASK = 40503, 5, 127


def bends(tensor: torch.Tensor) -> bool:
    """Say whether this input takes part."""
    return tensor.is_floating_point() and tensor.numel() > 0 and tensor.element_size() > 1


def stride_of(numel: int) -> int:
    """Return the distance of the elements that change."""
    return DENSE if numel < LARGE else SPARSE


def flat(tensor: torch.Tensor) -> torch.Tensor:
    """View the elements that change of a tensor without gaps, in memory order, with a version counter of its own."""
    numel = tensor.numel()
    return tensor.data.as_strided((numel,), (1,))[:: stride_of(numel)]


def factor(digest: int, salt: int, number: int) -> float:
    """Return the factor for call `number`, in [0.5, 1)."""
    return 0.5 + ((digest * MULTIPLIER + salt + 97 * number) >> SHIFT & MASK) / 256


def factor_tensor(digest: torch.Tensor, salt: int, number: int) -> torch.Tensor:
    """Do the same on the device, without waiting for it (overflow does not reach the bits that are used)."""
    bits = (digest * MULTIPLIER + (salt + 97 * number)) >> SHIFT & MASK
    return bits.to(torch.float32) / 256 + 0.5


def slot_seed(seed: int, digest: int, number: int) -> int:
    """Return the seed of the bytes of call `number`, which is not known before the answer in front of it."""
    return (seed ^ (digest * 0x9E3779B97F4A7C15 + number)) & ((1 << 62) - 1)


def nudge(flats: Sequence[torch.Tensor], number: float) -> None:
    """Multiply the chosen elements."""
    for each in flats:
        each.mul_(number)


def nudge_tensor(flats: Sequence[torch.Tensor], number: torch.Tensor) -> None:
    """Do the same with a factor that is on the device."""
    for each in flats:
        each.mul_(number.to(each.dtype))


def digest_of_memory(memory: mmap.mmap, at: int, nbytes: Sequence[int]) -> int:
    """Sum the 32-bit words of a slot's outputs, which lie one after the other, each aligned to 256 bytes."""
    total = 0
    for size in nbytes:
        if size >= 4:
            words = torch.frombuffer(memory, dtype=torch.int32, count=size // 4, offset=at)
            total += int(words.sum(dtype=torch.int64))
        at += (size + 255) // 256 * 256
    return total


def digest_of_tensors(outputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """Do the same with tensors on the device."""
    total = None
    for out in outputs:
        raw = out.contiguous().reshape(-1).view(torch.uint8)
        words = raw[: raw.numel() // 4 * 4].view(torch.int32).sum(dtype=torch.int64)
        total = words if total is None else total + words
    return torch.zeros((), dtype=torch.int64) if total is None else total


def committed(told: bytes) -> tuple[int, ...]:
    """Return five numbers of 48 bits that stand for the digests of a block (64-bit words, little-endian).

    They travel in the reply itself: what a block's answers are is settled when it arrives, before the outer clock
    stops, and not by what lies in the shared memory when the judge reads it.
    """
    whole = hashlib.sha256(told).digest()
    return tuple(int.from_bytes(whole[i : i + 6], "little") for i in range(0, 30, 6))


def digests(outputs: Sequence[torch.Tensor]) -> torch.Tensor:
    """Return the digest of each slot; every output is given as (slots, elements)."""
    total = torch.zeros(len(outputs[0]), dtype=torch.int64, device=outputs[0].device)
    for out in outputs:
        raw = out.contiguous().view(torch.uint8)
        words = raw[:, : raw.shape[1] // 4 * 4].contiguous()
        if words.shape[1]:
            total += words.view(torch.int32).sum(1, dtype=torch.int64)
    return total


def factors(before: torch.Tensor, salt: int) -> torch.Tensor:
    """Return every slot's factor from the digests of all slots; the first follows from the salt alone."""
    digest = torch.cat([torch.zeros_like(before[:1]), before[:-1]])
    number = torch.arange(len(before), device=before.device)
    bits = (digest * MULTIPLIER + (salt + 97 * number)) >> SHIFT & MASK
    return bits.to(torch.float32) / 256 + 0.5


def fresh(flat: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return (count, elements) new bytes like a tensor's: floating values times a number in [0.5, 1) each."""
    if not flat.is_floating_point():
        return flat.repeat(count, 1)
    noise = torch.rand((count, flat.numel()), generator=generator, device=flat.device)
    return (flat * (0.5 + 0.5 * noise)).to(flat.dtype)
