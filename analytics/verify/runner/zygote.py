"""The zygote: one process that has imported torch and forks every worker.

A fresh Python with torch costs one to five seconds, a fork some milliseconds, and all workers then
start from the same state. The zygote holds no reference, no seed and no candidate; it never touches
CUDA (a CUDA context does not survive a fork) and never runs a parallel operation (nor do OpenMP's threads).
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import socket
import sys
import time
import traceback
from pathlib import Path

from . import sandbox, syscalls

MAX_FDS = 8

READABLE = sandbox.prefixes()
"""Found here and not in the supervisor: `python -S` hides the environment's folders from that one."""


def main(fd: int) -> None:
    """Serve spawn requests on the control socket until it closes, then end."""
    syscalls.die_with_parent()
    control = socket.socket(fileno=fd)
    from . import machine, model_worker, oracle, probe  # noqa: F401  torch comes with them, before the first fork

    # Half a second in every worker otherwise; it does not touch CUDA (torch.utils.cpp_extension does).
    with contextlib.suppress(Exception):
        importlib.import_module("triton")

    # What exists now stays: without this a collection in a worker touches, and so copies, every page.
    gc.collect()
    gc.freeze()
    scratch = os.environ.pop("KBV_SCRATCH")
    private = _private_scratch(scratch) if os.environ.pop("KBV_PRIVATE", "") else False
    _send(control, {"ready": True, "private": private})
    while True:
        data, fds, _, _ = socket.recv_fds(control, 1 << 16, MAX_FDS)
        if not data:
            os._exit(0)
        request = json.loads(data)
        if request["op"] == "spawn":
            pid = os.fork()
            if pid == 0:
                control.close()
                _child(request, fds)
            for each in fds:
                os.close(each)
            _send(control, {"pid": pid})
        elif request["op"] == "home":
            sandbox.make_home(request["path"], request["uid"])
            _send(control, {})
        elif request["op"] == "clean":
            sandbox.remove_home(request["path"])
            _send(control, {})
        elif request["op"] == "reap":
            _send(control, {"status": _reap(request["pid"], request["grace_s"])})


def _send(control: socket.socket, message: dict[str, object]) -> None:
    control.send(json.dumps(message).encode())


def _private_scratch(scratch: str) -> bool:
    """Mount a small tmpfs over the scratch folder in a mount namespace of our own: it ends with us."""
    try:
        syscalls.unshare(syscalls.CLONE_NEWNS)
        syscalls.mount("none", "/", None, syscalls.MS_REC | syscalls.MS_PRIVATE)
        syscalls.mount("tmpfs", scratch, "tmpfs", syscalls.MS_NOSUID | syscalls.MS_NODEV, "size=4g,mode=711")
        Path(scratch, "root").mkdir()
    except OSError:
        return False
    return True


def _reap(pid: int, grace_s: float) -> int:
    end = time.monotonic() + grace_s
    while time.monotonic() < end:
        with contextlib.suppress(ChildProcessError):
            done, status = os.waitpid(pid, os.WNOHANG)
            if done:
                sandbox.kill_session(pid)
                return status
        time.sleep(0.005)
    sandbox.kill_session(pid)
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, 0)[1]
    return -1


def _child(request: dict, fds: list[int]) -> None:
    """Become a worker; never return."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        syscalls.die_with_parent()
        sock, log, *files = fds
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        os.close(null)
        role = request["role"]
        if role == "oracle":
            from . import oracle

            os.setsid()
            oracle.main(sock, files)
        else:
            home = sandbox.enter(sandbox.Box(**{**request["box"], "readable": READABLE}))
            if role == "probe":
                from . import probe

                probe.main(sock, request["probe"], home)
            else:
                from . import model_worker

                model_worker.main(sock, files, home)
    except BaseException:  # noqa: BLE001  foreign code raises what it likes
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(71)
    os._exit(0)
