"""How long a reference's work takes on this machine at least.

Its data at the rate of a copy, its products at the rate of a matrix product, both measured here. Never a proof by
itself: who finds a way to do less is below it and right. A badge says so.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from . import attribution

if TYPE_CHECKING:
    from .verification import Verification

SECONDS, TURNS = 0.4, 20
"""Longest measurement of one rate, and the most products in it; the quickest counts."""

SIZE = {"cpu": 512, "cuda": 4096}
"""Rows of the square product that is measured: 0.3 and 137 GFLOP, some milliseconds each."""

WAYS = {
    "fp64": (("fp64", 1.0),),
    "fp32": (("fp32", 1.0), ("tf32", 2.0), ("bf16", 3.0)),
    "tf32": (("fp32", 1.0), ("tf32", 1.0)),
    "fp16": (("fp32", 1.0), ("fp16", 1.0), ("bf16", 1.0)),
    "bf16": (("fp32", 1.0), ("fp16", 1.0), ("bf16", 1.0)),
}
"""Rates at which products of a class may run, with how many products of that rate one takes at least: fp32 is made of
three tf32 products, or of more of a 16-bit type."""

WINOGRAD = 2.25
"""How many times fewer multiplications a convolution of 3 x 3 takes in tiles of 2 x 2 (Lavin and Gray, 2016)."""

REVIEW = 0.8
"""Below this part of what its products take, a time asks for a look: the rate is that of one size."""


def of(v: Verification, busy_s: float) -> dict[str, Any]:
    """Compare a call's time with what moving the data and what the products take here; for the document.

    Args:
        v: the verification; rates are measured once a session and number of threads.
        busy_s: seconds of a call of the candidate, by the clock that counts.
    """

    def rate(name: str) -> float:
        key = (name, v.info["threads"])
        if key not in v.session.rates:
            asked = {"op": "rate", "device": v.device, "name": name}
            v.session.rates[key] = float(v.oracle.ask(asked)["a_second"])
        return v.session.rates[key]

    cuda = v.device.startswith("cuda")
    sizes = {"inputs": v.info["in_bytes"], "parameters": v.info["model_bytes"], "outputs": v.info["out_bytes"]}
    cache = int(v.session.machine.get("l2_bytes" if cuda else "cache_bytes") or 0)
    found = attribution.plausibility(busy_s, sizes, rate("copy"), cache)
    work = v.oracle.ask({"op": "flops"})
    ways = WAYS.get(work["class"] if v.klass == "own" else v.klass, ()) if work["flops"] else ()
    # On a CPU no fp32 product is made of smaller ones.
    ways = ways if cuda else tuple(w for w in ways if w[1] == 1.0 and w[0] != "tf32")
    if ways:
        best = max(rate(name) / times for name, times in ways)
        takes_s = work["flops"] / best
        found |= {"flops": work["flops"], "matrix_gflop_s": best / 1e9, "floor_products_us": takes_s * 1e6}
        found["needs_review"] = found["needs_review"] or busy_s < REVIEW * takes_s
    # Whatever else runs on a CPU slows the copy down with which a time is compared: no refusal by that.
    return (
        found
        if cuda
        else {**found, "implausible": False, "needs_review": found["needs_review"] or found["implausible"]}
    )


def matrix(device: str, name: str) -> float:
    """Measure a square product on the device of the run: FLOP a second, the best of some.

    Args:
        device: where.
        name: `fp64`, `fp32`, `tf32`, `fp16` or `bf16`.
    """
    import torch

    kinds = {"fp64": torch.float64, "fp16": torch.float16, "bf16": torch.bfloat16}
    n, cuda = SIZE["cuda" if device.startswith("cuda") else "cpu"], device.startswith("cuda")
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    try:
        a, b = (torch.randn(n, n, device=device).to(kinds.get(name, torch.float32)) for _ in range(2))
        out, best, end = torch.mm(a, b), math.inf, time.monotonic() + SECONDS
        for _ in range(TURNS):
            if cuda:
                torch.cuda.synchronize()
            start = time.perf_counter()
            torch.mm(a, b, out=out)
            if cuda:
                torch.cuda.synchronize()
            best = min(best, time.perf_counter() - start)
            if time.monotonic() > end:
                break
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed
    return 2.0 * n**3 / best


def flops(model: Any, args: list[Any]) -> tuple[float, str]:
    """Count what a reference's products of floating values take, without those that its data spare.

    A product with zeros counts by the share that is none (a diagonal matrix), one that is done again on the same
    values once, a convolution by Winograd's tiles.

    Returns:
        FLOP, and the class of their arithmetic: `fp64`, `fp32`, `tf32`, `fp16`, `bf16`, or "" without any.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    seen: set[tuple[Any, ...]] = set()
    total: dict[torch.dtype, float] = {}

    class Products(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            packet = func.overloadpacket
            given = [t for t in args if isinstance(t, torch.Tensor) and t.is_floating_point() and t.dim() > 1]
            if packet in flop_registry and given:
                told = [(tuple(t.shape), float(t.sum(dtype=torch.float64)), float(t.abs().max())) for t in given]
                if (key := (str(packet), *told)) not in seen:
                    seen.add(key)
                    share = math.prod(float((t != 0).count_nonzero()) / max(t.numel(), 1) for t in given)
                    share /= WINOGRAD if "convolution" in str(packet) else 1.0
                    kind = given[0].dtype
                    counted = flop_registry[packet](*args, **(kwargs or {}), out_val=out)
                    total[kind] = total.get(kind, 0.0) + share * counted
            return out

    with Products():
        model(*args)
    if not total:
        return 0.0, ""
    kind = max(total, key=lambda k: total[k])
    names = {torch.float64: "fp64", torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
    lower = args and torch.cuda.is_initialized() and torch.backends.cuda.matmul.allow_tf32
    return total[kind], "tf32" if lower and kind is torch.float32 else names.get(kind, "")
