"""The supervisor's handles: the zygote, and the workers it forks."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from . import sandbox, wire

KEPT_LOG = 65536
"""Bytes of a worker's own output that are kept; the rest is read and dropped."""

ENVIRONMENT = (
    "PATH",
    "LD_LIBRARY_PATH",
    "LANG",
    "LC_ALL",
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "NVIDIA_VISIBLE_DEVICES",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "CC",
    "CXX",
    "TORCH_CUDA_ARCH_LIST",
    "TRITON_LIBCUDA_PATH",
    "TRITON_PTXAS_PATH",
)
"""All that a worker's environment takes over: no seed, no path of ours, no secret of the caller's."""

BOOT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("kbrunner", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]])
package = importlib.util.module_from_spec(spec); sys.modules["kbrunner"] = package; spec.loader.exec_module(package)
from kbrunner import zygote
fd = int(sys.argv[2]); sys.argv[:] = [""]; zygote.main(fd)
"""  # noqa: E501  one line for a person
"""Loads the package by place, so that its folder is not on the path of anything a candidate imports."""


class WorkerDiedError(Exception):
    """The worker closed its socket without an answer."""


class WorkerTimeoutError(Exception):
    """The worker did not answer in time."""


class ZygoteError(Exception):
    """The zygote could not start: usually torch cannot be imported."""


class Zygote:
    """The process that forks workers, and the scratch folder of this session."""

    def __init__(self) -> None:
        """Start it and wait until torch is loaded (1 to 5 s)."""
        sweep()
        self.scratch = tempfile.mkdtemp(prefix=f"kbv-{os.getpid()}-")
        os.chmod(self.scratch, 0o711)  # noqa: PTH101, S103  a folder of ours
        os.mkdir(f"{self.scratch}/root")  # noqa: PTH102  plain calls between fork and exec
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        env = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        # Build tools that pip installs (ninja) stand beside the interpreter.
        env["PATH"] = f"{os.path.dirname(sys.executable)}:{env.get('PATH', '/usr/local/bin:/usr/bin:/bin')}"  # noqa: PTH120  plain calls between fork and exec
        env.update(KBV_SCRATCH=self.scratch, KBV_PRIVATE="1" if os.geteuid() == 0 else "", PYTHONDONTWRITEBYTECODE="1")
        here = str(Path(__file__).resolve().parent)
        command = [sys.executable, "-I", "-c", BOOT, here, str(theirs.fileno())]
        # Its own output goes to a file, not a pipe: nobody reads while the supervisor waits.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  lives as long as the zygote
        try:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                cwd="/",
            )
        except OSError as error:
            shutil.rmtree(self.scratch, ignore_errors=True)
            raise ZygoteError(f"{sys.executable}: {error.strerror}") from error
        theirs.close()
        self._socket = ours
        self._uid = 200_000 + secrets.randbelow(1 << 20)
        try:
            self.private = bool(self._receive()["private"])
        except BaseException:
            self.close()
            raise

    def _receive(self) -> dict[str, Any]:
        data = self._socket.recv(1 << 16)
        if not data:
            self._log.seek(0)
            lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
            raise ZygoteError(lines[-1] if lines else "the worker process ended at once")
        return json.loads(data)

    def ask(self, message: dict[str, Any], fds: list[int] | None = None) -> dict[str, Any]:
        """Send one request and return its answer."""
        data = json.dumps(message).encode()
        if fds:
            socket.send_fds(self._socket, [data], fds)
        else:
            self._socket.send(data)
        return self._receive()

    def box(self, mode: str, *, gpu: bool) -> sandbox.Box:
        """Make the folder of a new cell."""
        self._uid += 1
        home = f"{self.scratch}/{secrets.token_hex(6)}"
        self.ask({"op": "home", "path": home, "uid": self._uid if mode == "root" else None})
        return sandbox.Box(mode, f"{self.scratch}/root", home, self._uid, gpu)

    def clean(self, box: sandbox.Box) -> None:
        """Delete a cell's folder."""
        self.ask({"op": "clean", "path": box.home})

    def close(self) -> None:
        """End the zygote, with it all workers, and delete the scratch folder."""
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        self._log.close()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def __enter__(self) -> Zygote:  # noqa: PYI034  nobody inherits from it
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def sweep() -> None:
    """Delete the scratch folders of supervisors that were killed: all else that they had ended with them."""
    for folder in Path(tempfile.gettempdir()).glob("kbv-*-*"):
        number = folder.name.split("-")[1]
        with contextlib.suppress(OSError):
            mine = folder.is_dir() and not folder.is_symlink() and folder.stat().st_uid == os.geteuid()
            if mine and number.isdigit() and not Path("/proc", number).exists():
                shutil.rmtree(folder, ignore_errors=True)


class Worker:
    """One forked process and the socket to it."""

    def __init__(self, zygote: Zygote, role: str, *, files: list[int] | None = None, **request: Any) -> None:
        """Fork it; the caller must `close` it."""
        self._zygote = zygote
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        read, write = os.pipe()
        fds = [theirs.fileno(), write, *(files or [])]
        answer = zygote.ask({"op": "spawn", "role": role, **request}, fds)
        theirs.close()
        os.close(write)
        self.pid = int(answer["pid"])
        self._mode: str = (request.get("box") or {}).get("mode", "none")
        self._frozen: set[int] = set()
        self.status: int | None = None
        self._log = bytearray()
        self._drain = threading.Thread(target=self._read_log, args=(read,), daemon=True)
        self._drain.start()

    def _read_log(self, fd: int) -> None:
        with os.fdopen(fd, "rb", buffering=0) as pipe:
            while chunk := pipe.read(65536):
                self._log += chunk[: KEPT_LOG - len(self._log)]

    def log(self) -> str:
        """Return what the process printed so far."""
        return bytes(self._log).decode("utf-8", "replace")

    def send(self, message: dict[str, Any], fds: list[int] | None = None) -> None:
        """Send JSON, and files with it; a dead worker shows at the next receive."""
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._socket, [json.dumps(message).encode()], fds or [])

    def receive(self, timeout_s: float) -> bytes:
        """Wait for one packet.

        Raises:
            WorkerTimeoutError: after `timeout_s` seconds.
            WorkerDiedError: if the other end is closed.
        """
        self._socket.settimeout(max(timeout_s, 0.01))
        try:
            data = self._socket.recv(wire.MAX_PACKET)
        except TimeoutError:
            raise WorkerTimeoutError from None
        except ConnectionResetError:
            data = b""
        if not data:
            raise WorkerDiedError
        return data

    def request(self, message: dict[str, Any], timeout_s: float) -> tuple[wire.Reply, float]:
        """Send one request to a model worker and wait for its answer.

        Returns:
            the checked reply, and the seconds that passed on the supervisor's clock.

        Raises:
            wire.ForgedReplyError: if what came is not an answer to this request.
        """
        return self.finish(self.begin(message), timeout_s)

    def begin(self, message: dict[str, Any]) -> tuple[int, float]:
        """Send a request without waiting; returns what `finish` needs."""
        number = secrets.randbits(63)
        start = time.perf_counter()
        self.send({**message, "id": number})
        if self._frozen:
            sandbox.thaw(self._frozen)
            self._frozen = set()
        return number, start

    def freeze(self) -> None:
        """Stop the worker and all it started until its next request: nothing is computed, or disturbed, between.

        Raises:
            WorkerDiedError: if it cannot be stopped.
        """
        self._frozen = sandbox.freeze(self.pid, self._mode)
        if not self._frozen:
            raise WorkerDiedError

    def finish(self, token: tuple[int, float], timeout_s: float) -> tuple[wire.Reply, float]:
        """Wait for the answer to a request that was begun."""
        data = self.receive(timeout_s)
        elapsed = time.perf_counter() - token[1]
        return wire.unpack_reply(data, token[0]), elapsed

    def ask(self, message: dict[str, Any], timeout_s: float = 600.0) -> dict[str, Any]:
        """Ask a trusted worker, which answers in JSON."""
        self.send(message)
        return self.answer(timeout_s)

    def answer(self, timeout_s: float = 600.0) -> dict[str, Any]:
        """Wait for a trusted worker's JSON.

        Raises:
            OracleError: if it says that it could not do its part.
        """
        answer = json.loads(self.receive(timeout_s))
        if "error" in answer:
            raise OracleError(answer["error"], answer.get("reason", "reference_failed"))
        return answer

    def close(self, *, grace_s: float = 0.0) -> None:
        """Kill the process and all its descendants, and collect its exit status.

        Args:
            grace_s: how long a worker that is ending by itself may take, so that its own status is seen.
        """
        if self.status is not None:
            return
        self._socket.close()
        self.status = int(self._zygote.ask({"op": "reap", "pid": self.pid, "grace_s": grace_s})["status"])
        self._drain.join(2)

    def exit_words(self) -> str:
        """Say how the process ended, before it was killed by us if it was not."""
        code = self.status if self.status is not None else -1
        if code < 0:
            return "unknown"
        if os.WIFSIGNALED(code):
            return f"signal {os.WTERMSIG(code)}"
        value = os.WEXITSTATUS(code)
        return f"signal {value - 128}" if value > 128 else f"exit {value}"


class OracleError(Exception):
    """The trusted side could not do its part: the reference fails, or cannot be judged."""

    def __init__(self, message: str, reason: str) -> None:
        super().__init__(message)
        self.reason = reason
