"""Three linear stages without bias, ReLU between them, on a batch drawn near 16.

``popcorn_pri`` is put into this module's namespace by the suite that runs it;
``popcorn_pri.jitter_int(n)`` is an integer from ``int(0.85 * n)`` to
``int(1.15 * n)``. A kernel has to work for every batch that can be drawn.
"""

import torch
import torch.nn as nn

from kernelbench.distributed_collectives import default_device

N = 16
WIDTHS = (48, 64, 40, 24)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(WIDTHS[0], WIDTHS[1], bias=False)
        self.second = nn.Linear(WIDTHS[1], WIDTHS[2], bias=False)
        self.third = nn.Linear(WIDTHS[2], WIDTHS[3], bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.first(x))
        x = torch.relu(self.second(x))
        return self.third(x)


def get_inputs():
    batch = popcorn_pri.jitter_int(N)  # noqa: F821 - the suite's shim defines it
    return [torch.randn(batch, WIDTHS[0], device=default_device())]


def get_init_inputs():
    return []
