"""Where everything lies in the memory files that supervisor, oracle and workers share.

Input file: the model's constructor arguments and parameters, then the slots of inputs. Output file:
two regions for single calls, one for an output kept across a call, the times of a batch, the digests
of its answers, the answers.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from . import wire

SIDES = ("cand", "ref", "ctl")
"""The candidate, the reference, and the reference once more as a control."""

SLOT_BYTES = {"cpu": 48 << 20, "cuda": 256 << 20}
"""Bytes of inputs and outputs that one block of timed slots may take."""

MAX_COUNT = 1024
"""Most slots of a block."""


@dataclass(frozen=True)
class Layout:
    """Offsets in bytes."""

    slots_at: int
    in_stride: int
    out_region: int
    times_at: int
    digests_at: int
    outs_at: int
    out_stride: int
    max_count: int
    in_size: int
    out_size: int

    @classmethod
    def of(
        cls, model_bytes: int, in_bytes: int, out_bytes: int, device: str, room: int = 0, *, seeded: bool = False
    ) -> Layout:
        """Lay out memory for inputs of up to `in_bytes` and outputs of `out_bytes`.

        A single call may need `room` bytes of inputs: other layouts have gaps. Where workers make the
        inputs of slots from a seed (`seeded`), those take no place here.
        """
        in_stride, out_stride = max(wire.align(in_bytes), wire.ALIGN), max(wire.align(out_bytes), wire.ALIGN)
        budget = SLOT_BYTES["cuda" if device.startswith("cuda") else "cpu"]
        slot = out_stride if seeded else in_stride + out_stride
        count = max(1, min(MAX_COUNT, budget // slot))
        slots_at = wire.align(model_bytes)
        # A wrong result may be larger than the right one; what does not fit is not copied.
        region = 2 * out_stride + (1 << 16)
        times_at = 3 * region
        digests_at = wire.align(times_at + 8 * count)
        outs_at = wire.align(digests_at + 8 * count)
        return cls(
            slots_at,
            in_stride,
            region,
            times_at,
            digests_at,
            outs_at,
            out_stride,
            count,
            slots_at + max(in_stride if seeded else count * in_stride, room),
            outs_at + count * out_stride + region,
        )


class Files:
    """The open memory files of one verification."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.fds = {}
        for side in SIDES:
            self.fds[f"{side}_in"] = wire.memory_file(f"{side}_in", layout.in_size)
            self.fds[f"{side}_out"] = wire.memory_file(f"{side}_out", layout.out_size)

    def pair(self, side: str) -> list[int]:
        """Return the input and the output file of one side."""
        return [self.fds[f"{side}_in"], self.fds[f"{side}_out"]]

    def close(self) -> None:
        """Close them all."""
        for fd in self.fds.values():
            os.close(fd)
        self.fds.clear()


def text_file(text: str) -> int:
    """Return a memory file that holds a text, for a worker to read once."""
    data = text.encode()
    fd = wire.memory_file("text", len(data))
    os.pwrite(fd, data, 0)
    return fd
