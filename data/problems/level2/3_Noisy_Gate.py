"""A gate with noise on its logits, drawn anew in every call.

The reference never gives the same answer twice. A check that compares it with a
kernel element by element can only pass by chance, or by drawing the same noise.
"""

import torch
import torch.nn as nn

N = 1024
WIDTH = 1024
NOISE = 0.1


class Model(nn.Module):
    def forward(self, x: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(logits + NOISE * torch.randn_like(logits))


def get_inputs():
    return [torch.randn(N, WIDTH), torch.randn(N, WIDTH)]


def get_init_inputs():
    return []
