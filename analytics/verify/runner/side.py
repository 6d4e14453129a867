"""A model worker as the supervisor sees it: what it is told to load, and the requests it understands."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import memory, procs, wire

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .challenge import Limits
    from .verification import Verification

FRONT_CALLS = 3
"""Calls in front of a block on a GPU, on bytes of their own, which no clock sees."""


@dataclass(frozen=True)
class Baseline:
    """How the reference is run when it is timed."""

    name: str = "eager"
    autocast: str | None = None
    """`tf32`, `float16` or `bfloat16`: the candidate's own precision class, where it is a lower one."""
    compile_mode: str | None = None
    """A mode of torch.compile, None to run as it is."""


EAGER = Baseline()
FURTHER = {
    "tf32": Baseline("eager_tf32", "tf32"),
    "compile": Baseline("compile", compile_mode="default"),
    "max-autotune": Baseline("compile_max_autotune", compile_mode="max-autotune-no-cudagraphs"),
}
"""What can be asked for beside eager. CUDA graphs are a mode of their own, for both sides alike."""


def job_text(
    item: Any, device: str, *, reference: bool, threads: int | None, base: Baseline, capability: str | None = None
) -> str:
    """Return the JSON that tells a model worker what to load. The candidate's names no reference."""
    return json.dumps(
        {
            "source": item.reference if reference else item.kernel,
            "class": "Model" if reference else "ModelNew",
            "name": "kernel",
            "device": device,
            "shims": list(item.shims),
            "helpers": item.helpers if reference else {},
            "cast": item.cast,
            "autocast": base.autocast if reference else None,
            "compile": base.compile_mode if reference else None,
            "threads": threads,
            "capability": capability,
        }
    )


class Side:
    """A model worker and the requests it understands."""

    def __init__(
        self,
        v: Verification,
        side: str,
        *,
        reference: bool,
        base: Baseline = EAGER,
        build: bool = False,
        core: int | None = None,
    ) -> None:
        """Fork it; `build` hides the GPU from it, `core` holds it to one core of a CPU run."""
        self.layout = v.files.layout
        box = vars(v.box(side)) | ({"gpu": False} if build else {})
        box |= {"cores": (core,)} if v.device == "cpu" and core is not None else {}
        job = memory.text_file(
            job_text(
                v.item,
                v.device,
                reference=reference,
                threads=v.info["threads"],
                base=base,
                capability=v.session.machine.get("capability"),
            )
        )
        try:
            self.worker = procs.Worker(v.zygote, "model", files=[job, *v.files.pair(side)], box=box)
        finally:
            os.close(job)

    def load(self, specs: dict[str, Any], seed: int, limits: Limits) -> wire.Reply:
        """Import the source and build the model."""
        reply, _ = self.worker.request({"op": "load"}, limits.load_s)
        return reply if reply.status != wire.OK else self.construct(specs, seed, limits)

    def construct(self, specs: dict[str, Any], seed: int, limits: Limits) -> wire.Reply:
        """Build the model under a construction seed."""
        message = {"op": "construct", "seed": seed, "init": specs["init"], "state": specs["state"]}
        return self.worker.request(message, limits.load_s)[0]

    def state(self, specs: dict[str, Any], limits: Limits) -> wire.Reply:
        """Give the model other parameters in place."""
        return self.worker.request({"op": "state", "state": specs["state"]}, limits.call_s)[0]

    def call(self, args: dict[str, Any], poison: int, out: int, kept: int | None, timeout_s: float) -> wire.Reply:
        """Run one judged call."""
        message = {
            "op": "call",
            "args": args,
            "base": self.layout.slots_at,
            "poison": poison,
            "out": out,
            "kept_out": kept,
            "out_bytes": self.layout.out_stride,
        }
        return self.worker.request(message, timeout_s)[0]

    def late(self, out: int, wait_s: float, timeout_s: float) -> wire.Reply:
        """Ask for the last answer once more: as it was behind all streams, or `wait_s` seconds from now."""
        return self.worker.request({"op": "late", "out": out, "wait_s": wait_s}, timeout_s)[0]

    def deliver(self, slots: list[int], timeout_s: float) -> wire.Reply:
        """Ask for the answers of some slots of the last block."""
        lay = self.layout
        message = {"op": "deliver", "slots": slots, "out": lay.outs_at, "out_stride": lay.out_stride}
        reply, _ = self.worker.request(message, timeout_s)
        self.worker.freeze()
        return reply

    def profile(self, args: dict[str, Any], room: int, timeout_s: float) -> wire.Reply:
        """Ask for the kernels of one call."""
        message = {"op": "profile", "args": args, "base": self.layout.slots_at, "room": room}
        return self.worker.request(message, timeout_s)[0]

    def batch(
        self, args: dict[str, Any], block: dict[str, Any], out_nbytes: Sequence[int], timeout_s: float
    ) -> tuple[wire.Reply, float]:
        """Run one timed block; returns the reply and the outer clock's seconds.

        Args:
            args: description of one slot's arguments.
            block: `count`, `mode`, `salt`, `hold_s` and `core`; see timed_loops.
            out_nbytes: bytes of each output.
            timeout_s: seconds it may take.
        """
        lay = self.layout
        message = {
            "op": "batch",
            "args": args,
            "base": lay.slots_at,
            "stride": lay.in_stride,
            "out": lay.outs_at,
            "out_stride": lay.out_stride,
            "times": lay.times_at,
            "digests": lay.digests_at,
            "out_nbytes": list(out_nbytes),
            **block,
        }
        if block["seed"] is not None:
            # On a GPU's host the first calls after a rest are slow, those of a Triton kernel by half a millisecond
            # and more than a library's: beside the block, or the outer clock would hold them against it.
            warm = message | {"count": FRONT_CALLS, "seed": secrets.randbits(62), "salt": secrets.randbits(30)}
            answer = self.worker.request(warm, timeout_s)
            if answer[0].status != wire.OK or answer[0].message:
                return answer
        answer = self.worker.request(message, timeout_s)
        # The next block's bytes are written while it stands still, and nothing of it runs in another's turn.
        self.worker.freeze()
        return answer
