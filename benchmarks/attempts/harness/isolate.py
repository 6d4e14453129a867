"""Runs one evaluation in a child process of its own, with a time limit.

A kernel can hang, crash or poison its CUDA context; none of that may reach the
next attempt. The child is forked from a parent that has imported torch but never
touched CUDA, so that each attempt pays for a fresh context and not for an import.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Isolated:
    """What came back from the child.

    Attributes:
        result: The function's return value, None when the child gave none.
        timed_out: The limit was reached and the child was ended.
        elapsed_s: Wall-clock seconds from the fork to the child's end.
        output: What the child and its own children printed.
    """

    result: dict[str, Any] | None
    timed_out: bool
    elapsed_s: float
    output: str


def _child(function: Callable[[], dict[str, Any]], answer: Path, log: Path) -> None:
    """Runs `function` and leaves its result as JSON; never returns."""
    # A session of its own: compilers started by the child end with it.
    os.setsid()
    sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(sink, 1)
    os.dup2(sink, 2)
    code = 1
    try:
        part = answer.with_suffix(".part")
        part.write_text(json.dumps(function()), encoding="utf-8")
        part.rename(answer)
        code = 0
    finally:
        # No interpreter shutdown: after a CUDA fault it can hang or crash.
        os._exit(code)


def _wait(pid: int, deadline: float) -> bool:
    """Waits until the child ended (True) or the deadline passed (False)."""
    while time.monotonic() < deadline:
        done, _ = os.waitpid(pid, os.WNOHANG)
        if done:
            return True
        time.sleep(0.005)
    return False


def run_isolated(
    function: Callable[[], dict[str, Any]], folder: Path, limit_s: float, grace_s: float
) -> Isolated:
    """Runs `function` in a forked child; SIGTERM at the limit, SIGKILL after the grace."""
    answer, log = folder / "answer.json", folder / "child.log"
    answer.unlink(missing_ok=True)
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(function, answer, log)
    timed_out = not _wait(pid, started + limit_s)
    if timed_out:
        os.killpg(pid, signal.SIGTERM)
        if not _wait(pid, time.monotonic() + grace_s):
            os.killpg(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    elapsed_s = time.monotonic() - started
    result = None
    if answer.exists() and not timed_out:
        result = json.loads(answer.read_text(encoding="utf-8"))
    output = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    return Isolated(result, timed_out, elapsed_s, output)
