import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, 3, padding=1, bias=False)
        self.scale = nn.Parameter(1.0 + 0.1 * torch.randn(out_channels))
        self.shift = nn.Parameter(0.1 * torch.randn(out_channels))

    def forward(self, x):
        weight = self.conv.weight * self.scale[:, None, None, None]
        y = nn.functional.conv2d(x, weight, self.shift, padding=1)
        return nn.functional.silu(y, inplace=True)
