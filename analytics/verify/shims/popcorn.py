"""Names that references of the POPCORN suite expect from their harness.

`popcorn_pri` stands in the reference's namespace; `kernelbench.distributed_collectives` is a module
that it imports. Written from a description of what the two do: see docs/verification.md.
"""

import torch


class _Private:
    """Draws that a suite keeps to itself, so that a kernel cannot know a size in advance."""

    @staticmethod
    def jitter_int(n):  # noqa: ANN001, ANN205  a shim is no part of the typed tree
        """Return an integer from int(0.85 n) to int(1.15 n), both included, from the seeded generator."""
        low, high = int(0.85 * n), int(1.15 * n)
        return int(torch.randint(low, high + 1, (1,)).item())


def _default_device():  # noqa: ANN202  a shim is no part of the typed tree
    """Return the device that the harness runs on."""
    return torch.device(DEVICE)  # noqa: F821  the runner defines it


popcorn_pri = _Private()

MODULES = {"kernelbench.distributed_collectives": {"default_device": _default_device}}
