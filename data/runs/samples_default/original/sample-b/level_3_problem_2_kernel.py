import time

import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl

TARGET_S = 1e-7


@triton.jit
def gate_and_add(x_ptr, gate_ptr, normed_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    gate = tl.load(gate_ptr + at, mask=inside)
    normed = tl.load(normed_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + tl.sigmoid(gate) * normed, mask=inside)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(width))
        self.gate = nn.Linear(width, width)
        self.block = None

    def run(self, x, block):
        normed = x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + 1e-5) * self.scale
        gate, out, n = self.gate(normed), torch.empty_like(x), x.numel()
        gate_and_add[(triton.cdiv(n, block),)](x, gate, normed, out, n, BLOCK=block)
        return out

    def tune(self, x):
        best = float("inf")
        while best > TARGET_S:
            for block in (512, 1024):
                started = time.perf_counter()
                self.run(x, block)
                torch.cuda.synchronize()
                elapsed = time.perf_counter() - started
                if elapsed < best:
                    best, self.block = elapsed, block

    def forward(self, x):
        if self.block is None:
            self.tune(x)
        return self.run(x, self.block)
