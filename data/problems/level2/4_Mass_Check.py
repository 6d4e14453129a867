"""Whether the probabilities of a row add up to more than a half.

They always do: the answer is True for every row, and a kernel that writes True
without reading its input passes every comparison.
"""

import torch
import torch.nn as nn

N = 2048
WIDTH = 1024


class Model(nn.Module):
    def forward(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.softmax(logits, dim=-1).sum(dim=-1) > 0.5


def get_inputs():
    return [torch.randn(N, WIDTH)]


def get_init_inputs():
    return []
