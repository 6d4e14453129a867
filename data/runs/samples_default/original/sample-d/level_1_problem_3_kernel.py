import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rank_rows(x_ptr, out_ptr, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * width + at, mask=at < width, other=0.0)
    tl.store(out_ptr + row * width + at, x, mask=at < width)


class ModelNew(nn.Module):
    def __init__(self, k):
        super().__init__()

    def forward(self, x):
        out = torch.empty(len(x), self.k, device=x.device)
        rank_rows[(len(x),)](x, out, x.shape[1], BLOCK=2048)
        return out
