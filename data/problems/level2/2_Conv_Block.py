"""A 3x3 convolution, a scale and a shift for each channel, and SiLU."""

import torch
import torch.nn as nn

N = 16
IN_CHANNELS = 16
OUT_CHANNELS = 32
SIDE = 48


class Model(nn.Module):
    def __init__(self, in_channels: int, out_channels: int):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(out_channels))
        self.shift = nn.Parameter(0.1 * torch.randn(out_channels))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x) * self.scale[:, None, None] + self.shift[:, None, None]
        return y * torch.sigmoid(y)


def get_inputs():
    return [torch.randn(N, IN_CHANNELS, SIDE, SIDE)]


def get_init_inputs():
    return [IN_CHANNELS, OUT_CHANNELS]
