import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated_residual(x_ptr, gate_ptr, update_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    gate = tl.load(gate_ptr + at, mask=inside)
    update = tl.load(update_ptr + at, mask=inside)
    tl.store(out_ptr + at, x + tl.sigmoid(gate) * update, mask=inside)


class ModelNew(nn.Module):
    def forward(self, x, gate, update):
        out = torch.empty_like(x)
        n = x.numel()
        gated_residual[(triton.cdiv(n, 2048),)](x, gate, update, out, n, BLOCK=2048, num_warps=8)
        return out
