"""Building a kernel before its device is free: without a GPU, in the cell in which it will run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from . import challenge, memory, procs, side, wire

if TYPE_CHECKING:
    from .items import Item
    from .session import Session

LONGEST_S = 600.0
"""A build that takes longer is left to the verification, which says so."""


def builds(item: Item) -> bool:
    """Whether a source compiles when it is imported."""
    return any(word in item.kernel for word in challenge.BUILDS)


def build(session: Session, item: Item) -> None:
    """Import a source that compiles; what it leaves in its cell's caches serves the verification.

    Nothing is judged here: an import that fails without a GPU is tried again with one.
    """
    gpu = session.device.startswith("cuda")
    box = session.zygote.box(session.mode, gpu=gpu)
    job = memory.text_file(
        side.job_text(
            item,
            session.device,
            reference=False,
            threads=None,
            base=side.EAGER,
            capability=session.machine.get("capability"),
        )
    )
    files = [job, wire.memory_file("in", wire.ALIGN), wire.memory_file("out", wire.ALIGN)]
    try:
        worker = procs.Worker(session.zygote, "model", files=files, box=vars(box) | {"gpu": False})
    finally:
        for fd in files:
            os.close(fd)
    ok = False
    try:
        reply, _ = worker.request({"op": "build"}, LONGEST_S)
        ok = reply.status == wire.OK
    except (procs.WorkerTimeoutError, procs.WorkerDiedError, wire.ForgedReplyError):
        pass  # what went wrong here is found, and named, when the verification builds it again
    finally:
        worker.close()
    session.prepared[item.kernel_sha256] = (box, ok)
