"""Proof of the walls: a worker behind them tries to get out, and reports what it could do."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

REQUIRED = ("write_outside", "read_results", "network", "signal_host")
"""What must have been refused for a result to count."""


def _write_outside(m: dict[str, Any]) -> str:
    """Try folders of the host; the supervisor looks whether the file arrived there. System folders must refuse."""
    for path in m["write"]:
        try:
            Path(path).write_text("x", encoding="ascii")
        except OSError:
            continue
    for path in ("/usr/kbv-probe", "/kbv-probe", "/etc/kbv-probe"):
        try:
            Path(path).write_text("x", encoding="ascii")
        except OSError:
            continue
        return f"wrote {path}"
    return ""


def _read_results(m: dict[str, Any]) -> str:
    for path in m["read"]:
        try:
            Path(path).read_bytes()
        except OSError:
            continue
        return f"read {path}"
    return ""


def _network(m: dict[str, Any]) -> str:
    try:
        with socket.create_connection(("127.0.0.1", m["port"]), 2):
            return "connected to a port of the host"
    except OSError:
        return ""


def _signal_host(m: dict[str, Any]) -> str:
    try:
        os.kill(m["pid"], 0)
    except OSError:
        return ""
    # Behind a pid namespace the same number is one of our own few processes.
    alone = sum(p.isdigit() for p in os.listdir("/proc")) <= 5  # noqa: PTH208  plain calls between fork and exec
    return "" if alone else "may signal the supervisor"


def _fork_limit(_: dict[str, Any]) -> str:
    children, limit = [], 48
    # The limit of a worker is hundreds; a smaller one proves as well that it binds, and faster.
    resource.setrlimit(resource.RLIMIT_NPROC, (limit // 2, limit // 2))
    try:
        for _n in range(limit):
            pid = os.fork()
            if pid == 0:
                signal.pause()
                os._exit(0)
            children.append(pid)
    except OSError:
        pass  # the limit holds: that is what was asked
    for pid in children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return f"{limit} processes" if len(children) == limit else ""


TRIALS: dict[str, Callable[[dict[str, Any]], str]] = {
    "write_outside": _write_outside,
    "read_results": _read_results,
    "network": _network,
    "signal_host": _signal_host,
    "fork_limit": _fork_limit,
}
"""Each returns what it managed to do, empty when it was refused."""


def main(sock_fd: int, message: dict[str, Any], home: str) -> None:
    """Try everything and report one JSON object (from our own code: no candidate has run here)."""
    found = {name: trial(message) for name, trial in TRIALS.items()}
    try:
        Path(home, "tmp", "probe").write_text("x", encoding="ascii")
        found["own_folder"] = ""
    except OSError as error:
        found["own_folder"] = str(error)
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    facts = {line.split(":")[0]: line.split(":")[1].strip() for line in status.splitlines() if ":" in line}
    answer = {
        "tried": found,
        "no_new_privs": facts.get("NoNewPrivs") == "1",
        "seccomp": facts.get("Seccomp") == "2",
        "uid": os.getuid(),
        "processes": sum(p.isdigit() for p in os.listdir("/proc")),  # noqa: PTH208  plain calls between fork and exec
    }
    socket.socket(fileno=sock_fd).send(json.dumps(answer).encode())
