"""Rows are centred by a mean that the module keeps and updates in every call.

The answer depends on how often the module has been called: a check that calls
the reference and a kernel a different number of times compares two histories.
"""

import torch
import torch.nn as nn

N = 2048
WIDTH = 512
MOMENTUM = 0.1


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.register_buffer("centre", torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.centre = (1.0 - MOMENTUM) * self.centre + MOMENTUM * x.mean(dim=0)
        return torch.relu(x - self.centre)


def get_inputs():
    return [torch.randn(N, WIDTH) + 1.0]


def get_init_inputs():
    return [WIDTH]
