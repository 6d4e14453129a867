"""Tensors as bytes in shared memory: both ends of every call use these few functions."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING, Any

import torch

from . import wire

if TYPE_CHECKING:
    from collections.abc import Callable

Spec = dict[str, Any]
"""JSON description of an argument: a tree of lists, tuples, dicts, values and tensors with their offsets."""


class NotEncodableError(Exception):
    """An input of a kind that cannot be handed to another process as bytes."""


def open_map(fd: int) -> mmap.mmap:
    """Map a memory file whole, shared and writable."""
    return mmap.mmap(fd, 0)


def dense(tensor: torch.Tensor) -> torch.Tensor:
    """Return a CPU copy without gaps that keeps the strides where they are a permutation."""
    tensor = tensor.detach()
    if tensor.layout is not torch.strided:
        raise NotEncodableError(f"a tensor of layout {tensor.layout}")
    return torch.empty_like(tensor, device="cpu", memory_format=torch.preserve_format).copy_(tensor)


def as_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """View a tensor without gaps as uint8, in memory order."""
    flat = tensor.as_strided((tensor.numel(),), (1,)) if tensor.numel() else tensor.reshape(-1)
    return flat.view(torch.uint8) if tensor.numel() else torch.empty(0, dtype=torch.uint8)


def encode(value: Any, place: Callable[[torch.Tensor], int]) -> Spec:  # noqa: PLR0911  one return a finding
    """Describe `value`; every tensor in it is handed to `place`, which returns its offset."""
    if isinstance(value, torch.Tensor):
        tensor = dense(value)
        name = str(tensor.dtype).removeprefix("torch.")
        if name not in wire.DTYPES:
            raise NotEncodableError(f"a tensor of type {tensor.dtype}")
        return {
            "t": "tensor",
            "dtype": name,
            "shape": list(tensor.shape),
            "stride": list(tensor.stride()),
            "off": place(tensor),
        }
    if isinstance(value, (list, tuple)):
        return {"t": "list" if isinstance(value, list) else "tuple", "items": [encode(v, place) for v in value]}
    if isinstance(value, dict) and all(isinstance(k, str) for k in value):
        return {"t": "dict", "keys": list(value), "items": [encode(v, place) for v in value.values()]}
    if value is None or isinstance(value, (bool, int, float, str)):
        return {
            "t": "value",
            "v": repr(value) if isinstance(value, float) else value,
            "float": isinstance(value, float),
        }
    if isinstance(value, torch.dtype):
        return {"t": "dtype", "v": str(value).removeprefix("torch.")}
    if isinstance(value, torch.device):
        return {"t": "device"}
    if isinstance(value, torch.Size):
        return {"t": "tuple", "items": [encode(int(v), place) for v in value]}
    raise NotEncodableError(f"an input of type {type(value).__name__}")


def decode(spec: Spec, take: Callable[[Spec], torch.Tensor], device: str) -> Any:
    """Rebuild a value; `take` turns a tensor's description into the tensor."""
    kind = spec["t"]
    if kind == "tensor":
        return take(spec)
    if kind in {"list", "tuple"}:
        items = [decode(s, take, device) for s in spec["items"]]
        return items if kind == "list" else tuple(items)
    if kind == "dict":
        return {k: decode(s, take, device) for k, s in zip(spec["keys"], spec["items"], strict=True)}
    if kind == "dtype":
        return getattr(torch, spec["v"])
    if kind == "device":
        return torch.device(device)
    return float(spec["v"]) if spec.get("float") else spec["v"]


def leaves(value: Any) -> list[torch.Tensor]:
    """Return the tensors of a nested value, in order."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in leaves(v)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in leaves(v)]
    return []


def parts(value: Any, device: str) -> list[Any]:
    """Return what a model returned as one flat list: tensors, numbers as tensors of no dimension, no None.

    Tuples with names (torch.sort's), dicts and nested ones are opened; anything else stays as it is.
    """
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (bool, int, float, complex)):
        dtype = {bool: torch.bool, int: torch.int64, float: torch.float64}.get(type(value), torch.complex128)
        return [torch.tensor(value, dtype=dtype, device=device)]
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in parts(v, device)]
    if isinstance(value, dict):
        return [t for v in value.values() for t in parts(v, device)]
    return [] if value is None else [value]


def real(tensor: torch.Tensor) -> torch.Tensor:
    """View a complex tensor as pairs of real numbers, whose bytes are the same; others stay as they are."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def answers(value: Any, device: str) -> list[torch.Tensor]:
    """Return the tensors of a trusted model's result, complex ones as pairs of real numbers."""
    return [real(t.detach()) for t in parts(value, device) if isinstance(t, torch.Tensor)]


def rebuild(value: Any, tensors: list[torch.Tensor]) -> Any:
    """Return `value` with its tensors replaced, in order, by `tensors` (which is used up)."""
    if isinstance(value, torch.Tensor):
        return tensors.pop(0)
    if isinstance(value, (list, tuple)):
        return type(value)(rebuild(v, tensors) for v in value) if not hasattr(value, "_fields") else value
    if isinstance(value, dict):
        return {k: rebuild(v, tensors) for k, v in value.items()}
    return value


def span(spec: Spec) -> int:
    """Bytes of one tensor's description."""
    count = 1
    for size in spec["shape"]:
        count *= size
    return count * getattr(torch, spec["dtype"]).itemsize


def view(memory: mmap.mmap, spec: Spec, base: int = 0) -> torch.Tensor:
    """Return the tensor that lies in mapped memory at `base` plus the description's offset."""
    dtype = getattr(torch, spec["dtype"])
    count = span(spec) // dtype.itemsize
    if not count:
        return torch.empty(spec["shape"], dtype=dtype)
    # A layout with gaps names the elements of its memory and where the first one lies.
    flat = torch.frombuffer(memory, dtype=dtype, count=spec.get("storage", count), offset=base + spec["off"])
    return flat.as_strided(spec["shape"], spec["stride"], spec.get("start", 0))


def seed_all(seed: int) -> None:
    """Seed torch (CPU and, once in use, CUDA), random and, where it is loaded, numpy."""
    import random
    import sys

    random.seed(seed)
    torch.manual_seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed % (1 << 32))


def to_device(value: Any, device: str) -> Any:
    """Copy all tensors of a nested value to `device`."""
    return rebuild(value, [t.to(device) for t in leaves(value)])
