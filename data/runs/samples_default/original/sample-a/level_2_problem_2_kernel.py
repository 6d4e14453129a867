import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale_shift_silu(y_ptr, scale_ptr, shift_ptr, n, plane, channels, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    c = (at // plane) % channels
    y = tl.load(y_ptr + at, mask=inside)
    y = y * tl.load(scale_ptr + c, mask=inside) + tl.load(shift_ptr + c, mask=inside)
    tl.store(y_ptr + at, y * tl.sigmoid(y), mask=inside)


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(out_channels))
        self.shift = nn.Parameter(0.1 * torch.randn(out_channels))

    def forward(self, x):
        y = self.conv(x)
        plane = y.shape[2] * y.shape[3]
        scale_shift_silu[(triton.cdiv(y.numel(), 1024),)](
            y, self.scale, self.shift, y.numel(), plane, y.shape[1], BLOCK=1024, num_warps=4
        )
        return y
