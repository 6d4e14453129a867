"""A first-order recurrence over time: ``y[t] = decay[t] * y[t - 1] + x[t]``.

Step by step it is two small launches for each point in time; a single kernel
keeps the state in registers.
"""

import torch
import torch.nn as nn

N = 64
STEPS = 48
WIDTH = 256


class Model(nn.Module):
    def forward(self, x: torch.Tensor, decay: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        states = []
        for t in range(x.shape[1]):
            state = decay[:, t] * state + x[:, t]
            states.append(state)
        return torch.stack(states, dim=1)


def get_inputs():
    return [torch.randn(N, STEPS, WIDTH), torch.rand(N, STEPS, WIDTH)]


def get_init_inputs():
    return []
