import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centred_relu(x_ptr, centre_ptr, out_ptr, n, width, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside) - tl.load(centre_ptr + at % width, mask=inside)
    tl.store(out_ptr + at, tl.maximum(x, 0.0), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_buffer("centre", torch.zeros(width))

    def forward(self, x):
        self.centre = 0.1 * x.mean(dim=0)
        out = torch.empty_like(x)
        n, width = x.numel(), x.shape[1]
        centred_relu[(triton.cdiv(n, 1024),)](x, self.centre, out, n, width, BLOCK=1024, num_warps=4)
        return out
