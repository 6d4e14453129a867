"""Whose kernels ran, and is the time possible? Badges and a floor, measured on the GPU of the run."""

from __future__ import annotations

import re
import time
from typing import Any

CLASSES = (
    ("copy", r"^(Memcpy|Memset)"),
    ("compiler", r"^triton_(poi|red|per|tem|for|unk)_"),
    ("aten", r"\bat::|at_cuda_detail|^(void )?(vectorized|unrolled)_elementwise|\b(cunn_|softmax_warp)"),
    (
        "library",
        r"cublas|cudnn|cutlass|nvjet|xmma|splitKreduce|gemmSN|gemv2|gemvx|^(ampere|hopper|sm\d\d|volta|maxwell)_|sgemm|\bcub::",
    ),
)
"""Classes of kernels by their names, first match; any other is the author's own (CUDA or Triton) where the
candidate's source holds its name, and a library's where not."""

MAX_KERNELS = 40
SHARE = 0.95
"""From this part of the GPU time on, a kernel is somebody else's work."""

IMPLAUSIBLE = 0.9
"""Below this part of the time that writing the result takes, a time cannot be true."""

BEYOND_L2 = 2.0
"""Data of this many L2 caches has to go through memory."""


def classify(name: str, source: str) -> str:
    """Return the class of one kernel's name.

    >>> names = "void at::native::reduce_kernel<4>", "row_softmax", "void DotKernel<float>(int)"
    >>> [classify(name, source="@triton.jit def row_softmax(x)") for name in names]
    ['aten', 'authored', 'library']
    """
    found = next((label for label, words in CLASSES if re.search(words, name)), None)
    if found:
        return found
    base = base_name(name)
    # Triton once put what it had specialised behind the name: rows_0d1d2de.
    names = {base, re.sub(r"_(\d+[dec]*)+$", "", base)} - {""}
    return "authored" if any(re.search(rf"\b{re.escape(n)}\b", source) for n in names) else "library"


def base_name(name: str) -> str:
    """Return the identifier of a kernel without its return type, name spaces, template arguments and parameters.

    >>> base_name("void (anonymous namespace)::rows<float, 4>(float*, int)"), base_name("tiles"), base_name("<")
    ('rows', 'tiles', '')
    """
    head = re.split(r"[<(]", name.replace("(anonymous namespace)::", ""), maxsplit=1)[0]
    return (head.rpartition("::")[2].split() or [""])[-1]


def profile(model: Any, args: list[Any], calls: int = 3) -> str:
    """Return one line a kernel: microseconds a call, a tab, its name. Runs in the worker: a claim, not a fact."""
    import torch
    from torch.profiler import ProfilerActivity

    model(*args)
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as seen:
        for _ in range(calls):
            model(*args)
        torch.cuda.synchronize()
    total: dict[str, float] = {}
    for event in seen.events() or []:
        if event.device_type == torch.autograd.DeviceType.CUDA:
            total[event.name] = total.get(event.name, 0.0) + event.time_range.elapsed_us() / calls
    top = sorted(total.items(), key=lambda kv: -kv[1])[:MAX_KERNELS]
    return "\n".join(f"{us:.3f}\t{name[:160]}" for name, us in top)


def read(text: str, source: str) -> list[dict[str, Any]]:
    """Read what `profile` wrote of a candidate's source; a line of another form is dropped."""
    found = []
    for line in text.splitlines()[:MAX_KERNELS]:
        number, _, name = line.partition("\t")
        if re.fullmatch(r"\d{1,9}\.\d{3}", number) and name.isprintable():
            found.append({"name": name[:160], "us": float(number), "class": classify(name, source)})
    return found


def badges(kernels: list[dict[str, Any]], source: str) -> list[str]:
    """Return the badges that follow from who did the work."""
    total = sum(k["us"] for k in kernels)
    if not total:
        return []
    share = {c: sum(k["us"] for k in kernels if k["class"] == c) / total for c in ("library", "aten", "compiler")}
    authors = bool(re.search(r"@triton\.(jit|autotune)|__global__", source))
    found = []
    if share["library"] + share["aten"] >= SHARE:
        found.append("LIBRARY_CALL")
        if authors:
            found.append("DECOY_KERNEL")
    elif share["compiler"] >= SHARE:
        found.append("COMPILER_ONLY")
    return found


def bandwidth(device: str) -> float:
    """Measure a copy within the device's memory, bytes read and written a second, the best of eight."""
    import torch

    cuda = device.startswith("cuda")
    source = torch.empty(1 << (28 if cuda else 24), dtype=torch.float32, device=device).normal_()
    target = torch.empty_like(source)
    best = float("inf")
    for _ in range(8):
        if not cuda:
            start = time.perf_counter()
            target.copy_(source)
            best = min(best, time.perf_counter() - start)
            continue
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        target.copy_(source)
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) * 1e-3)
    size = source.numel() * source.element_size()
    del source, target
    if cuda:
        torch.cuda.empty_cache()
    return 2.0 * size / best


def plausibility(busy_s: float, sizes: dict[str, int], rate: float, l2_bytes: int) -> dict[str, Any]:
    """Compare a call's GPU time with what moving its data takes.

    Args:
        busy_s: GPU time of a call.
        sizes: bytes of `inputs`, `parameters` and `outputs`.
        rate: measured bytes a second.
        l2_bytes: size of the L2; data that fits there need not go through memory.
    """
    hard, soft = sizes["outputs"] / rate, sum(sizes.values()) / rate
    beyond = sizes["outputs"] > BEYOND_L2 * l2_bytes
    return {
        "copy_gb_s": rate / 1e9,
        "busy_us": busy_s * 1e6,
        "floor_outputs_us": hard * 1e6,
        "floor_all_us": soft * 1e6,
        "implausible": beyond and busy_s < IMPLAUSIBLE * hard,
        "needs_review": sum(sizes.values()) > BEYOND_L2 * l2_bytes and busy_s < soft,
    }
