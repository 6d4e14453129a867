"""Gated residual: ``x + sigmoid(gate) * update``, three tensors in, one out.

Three passes over memory when run operation by operation, one when fused.
"""

import torch
import torch.nn as nn

N = 2048
WIDTH = 4096


class Model(nn.Module):
    def forward(self, x: torch.Tensor, gate: torch.Tensor, update: torch.Tensor) -> torch.Tensor:
        return x + torch.sigmoid(gate) * update


def get_inputs():
    return [torch.randn(N, WIDTH) for _ in range(3)]


def get_init_inputs():
    return []
