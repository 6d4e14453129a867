"""One run over several kernels: the zygote, the machine, the proof of the walls, the results file."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import machine, monitor, probe, procs, sandbox, verdict
from .verification import Verification, result_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .items import Item

BUDGET_S = {"cpu": 30.0, "cuda": 180.0}
"""Seconds a kernel may cost beside its build, unless the caller says otherwise."""


class NoVerdictError(Exception):
    """No verdict can be reached here: no torch, no device, no sandbox."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def check_writable(path: Path) -> None:
    """Say before a run, and not behind it, that its results cannot be kept.

    Raises:
        NoVerdictError: if `path` can be no results file.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NoVerdictError(f"the results cannot be written to {path} ({error.strerror})", "-o FILE") from error
    # Not tried out by opening it: another run may be making the file just now.
    if path.is_dir() or not os.access(path if path.exists() else path.parent, os.W_OK):
        what = "it is a folder" if path.is_dir() else "no permission"
        raise NoVerdictError(f"the results cannot be written to {path} ({what})", "-o FILE")


class Session:
    """A zygote and what was found out about this machine."""

    def __init__(
        self,
        device: str,
        *,
        budget_s: float | None = None,
        no_sandbox: bool = False,
        results: Path | None = None,
        baselines: Sequence[str] = (),
        replay: Path | None = None,
        cores: Sequence[int] | None = None,
    ) -> None:
        # torch.cuda.set_device wants a number.
        self.device = "cuda:0" if device == "cuda" else device
        self.budget_s = budget_s or BUDGET_S["cuda" if device.startswith("cuda") else "cpu"]
        self.results = results
        if results:
            check_writable(results)
        self._before = _ended_by_signals()
        self.baselines = tuple(baselines)
        self.replays = replays(replay) if replay else {}
        if cores is not None:
            self.cores = list(cores)
        else:
            self.cores = machine.quick_cores() if device.startswith("cuda") else []
        # Cells of kernels that were built before their turn, and whether that went well.
        self.prepared: dict[str, tuple[sandbox.Box, bool]] = {}
        # Bytes and FLOP a second of this machine, by name and number of threads; see floor.
        self.rates: dict[tuple[str, int | None], float] = {}
        self.powers: dict[str, dict[str, Any]] = {}
        try:
            self.zygote = procs.Zygote()
        except procs.ZygoteError as error:
            raise NoVerdictError(f"the worker process cannot start: {error}", "pip install torch") from error
        try:
            self.machine = self._machine()
            self.mode, self.sandbox = self._sandbox(no_sandbox=no_sandbox)
            self.monitor = monitor.Monitor(self.device)
        except BaseException:
            self.zygote.close()
            raise

    def _machine(self) -> dict[str, Any]:
        worker = procs.Worker(self.zygote, "oracle")
        try:
            return worker.ask({"op": "machine", "device": self.device}, 120.0)
        except procs.OracleError as error:
            raise NoVerdictError(str(error).partition(": ")[2] or str(error)) from error
        except (procs.WorkerDiedError, procs.WorkerTimeoutError) as error:
            raise NoVerdictError(f"the device {self.device} cannot be used: {worker.log()[-300:].strip()}") from error
        finally:
            worker.close()

    def _sandbox(self, *, no_sandbox: bool) -> tuple[str, dict[str, Any]]:
        """Return the first mode whose walls hold, with the probe's findings."""
        if no_sandbox:
            return "none", {"mode": "none", "ok": False, "layers": {"session": True}}
        order = [m for m in sandbox.MODES[:-1] if m != "root" or os.geteuid() == 0]
        found: dict[str, Any] = {}
        for mode in order:
            found[mode] = self._probe(mode)
            if found[mode]["ok"]:
                return mode, found[mode]
        return "refuse", {"mode": "refuse", "ok": False, "layers": {}, "tried": found}

    def _probe(self, mode: str) -> dict[str, Any]:
        box = self.zygote.box(mode, gpu=self.device.startswith("cuda"))
        listener = socket.create_server(("127.0.0.1", 0))
        secret = Path(self.zygote.scratch).with_suffix(".probe")
        secret.write_text("results", encoding="ascii")
        here = [str(secret), *([str(self.results)] if self.results and self.results.exists() else [])]
        folders = [str(secret.parent), str(Path.home()), str(self.results.parent) if self.results else "/var"]
        message = {
            "write": [f"{f}/kbv-probe-{os.getpid()}" for f in folders],
            "read": here,
            "port": listener.getsockname()[1],
            "pid": os.getpid(),
        }
        worker = procs.Worker(self.zygote, "probe", box=vars(box), probe=message)
        try:
            answer = json.loads(worker.receive(30.0))
        except (procs.WorkerDiedError, procs.WorkerTimeoutError):
            worker.close()
            return {"mode": mode, "ok": False, "layers": {}, "error": worker.log().strip()[-300:]}
        finally:
            worker.close()
            listener.close()
            secret.unlink(missing_ok=True)
            self.zygote.clean(box)
            escaped = [path for path in message["write"] if os.path.exists(path)]  # noqa: PTH110  plain calls between fork and exec
            for path in escaped:
                os.unlink(path)  # noqa: PTH108  plain calls between fork and exec
        tried = answer["tried"]
        tried["write_outside"] = tried["write_outside"] or (f"wrote {escaped[0]}" if escaped else "")
        layers = {name: {"refused": not what, "did": what or None} for name, what in tried.items()}
        ok = not any(tried[name] for name in probe.REQUIRED) and not tried["own_folder"] and answer["no_new_privs"]
        facts = {k: answer[k] for k in ("no_new_privs", "seccomp", "uid", "processes")}
        return {"mode": mode, "ok": ok, "layers": {**layers, **facts, "private_scratch": self.zygote.private}}

    def key(self, item: Item) -> str:
        """Return the key under which this item's result is looked for."""
        return result_key(item, self.machine, self.device)

    def verify(self, item: Item) -> dict[str, Any]:
        """Verify one kernel.

        Raises:
            NoVerdictError: if the required layers of the sandbox do not hold here.
        """
        if self.mode == "refuse":
            reasons = "; ".join(f"{m}: {f.get('error') or f['layers']}" for m, f in self.sandbox["tried"].items())
            raise NoVerdictError(
                f"no sandbox holds on this machine ({reasons[:400]})",
                "run as root, allow user namespaces, or pass --no-sandbox: such results never count",
            )
        return Verification(self, item).run()

    def close(self) -> None:
        """End all processes and delete the scratch folder."""
        self.monitor.close()
        self.zygote.close()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def __enter__(self) -> Session:  # noqa: PYI034  nobody inherits from it
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _ended_by_signals() -> dict[int, Any]:
    """Let a request to end go the way of an exception, so that processes and folders go with it.

    Returns:
        the handlers to put back: of signals that nobody else handles, and in the main thread alone.
    """
    if threading.current_thread() is not threading.main_thread():
        return {}

    def end(number: int, _frame: object) -> None:
        sys.exit(128 + number)

    mine = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is signal.SIG_DFL]
    return {number: signal.signal(number, end) for number in mine}


def replays(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the results to repeat by kernel and reference, the last of each.

    Raises:
        NoVerdictError: if the file holds none.
    """
    found = {}
    try:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.strip():
                doc = json.loads(line)
                if doc["seeds"]["inputs"]:
                    found[doc["kernel_sha256"], doc["reference_sha256"]] = doc
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise NoVerdictError(f"{path} is no results file: {error}") from error
    if not found:
        raise NoVerdictError(f"{path} holds no result that got as far as its seeds")
    return found


def done_documents(path: Path) -> dict[str, dict[str, Any]]:
    """Return the whole lines of a results file by key, the last of each; a line cut by a crash is not done."""
    found: dict[str, dict[str, Any]] = {}
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return {}
    for line in lines:
        try:
            document = json.loads(line)
            found[document["key"]] = document
        except (ValueError, KeyError, TypeError):
            continue
    return found


def done_keys(path: Path) -> set[str]:
    """Return the keys of the whole lines of a results file."""
    return set(done_documents(path))


def finite(value: Any) -> Any:
    """Return a document with every number that is none as None: an error can be infinite where the truth is."""
    if isinstance(value, dict):
        return {k: finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def append(path: Path, document: dict[str, Any]) -> None:
    """Append one whole line and force it to disk; a line left half by a crash is ended first."""
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(finite(document), allow_nan=False, default=str) + "\n"
    fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        size = os.fstat(fd).st_size
        if size and os.pread(fd, 1, size - 1) != b"\n":
            line = "\n" + line
        os.write(fd, line.encode())
        os.fsync(fd)
    finally:
        os.close(fd)


def say(text: str) -> None:
    """Report progress on standard error."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201  its output


def run_items(
    session: Session, items: Iterable[Item], results: Path | None, report: Callable[[str], None] = say
) -> list[dict[str, Any]]:
    """Verify items one by one, appending each result.

    What stands in the file already is not measured again: its verdict is found anew for the claim of now, which
    is no part of a measurement.
    """
    done = done_documents(results) if results else {}
    documents = []
    for item in items:
        before = session.replays.get((item.kernel_sha256, item.reference_sha256))
        if before is None and (session.replays or session.key(item) in done):
            if session.replays:
                continue
            document = verdict.for_claim(done[session.key(item)], item)
            report(f"{item.label}: already in {results}: {document['verdict']}")
            documents.append(document)
            continue
        report(f"{item.label}: running")
        started = time.monotonic()
        document = session.verify(item)
        if results:
            append(results, document)
        speed = (
            f" {document['speedup']:.2f}x [{document['speedup_lo']:.2f}, {document['speedup_hi']:.2f}]"
            if document["speedup"]
            else ""
        )
        report(
            f"{item.label}: {document['verdict']}{speed}"
            + (f" at {document['gate']}" if document["gate"] else "")
            + f" in {time.monotonic() - started:.0f} s"
            + (f" (was {before['verdict']})" if before else "")
        )
        documents.append(document)
    return documents
