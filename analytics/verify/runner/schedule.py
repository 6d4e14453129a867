"""Several devices of one host: who runs what, and the results of all of them in one file.

Each device has *lanes*, processes that take kernels from one queue. A lane holds its device's lock
while it touches the device, so that one kernel at a time is measured there, and builds its next kernel
without the lock, in one of the slots that all devices share. What is to be done, what is claimed and
what is done are files in one folder, named by content:

    items/<hash>.json       a kernel, its reference and all that its verdict depends on
    claims/<key>.lock       locked by the lane that works on it; the system frees that of a killed one
    attempts/<key>          a byte for each time it was begun
    results/<key>.json      the document, complete or not there

A killed lane costs the kernel that it held, which another lane takes again; a rerun skips what has a
result. `key` names the machine's GPU model, so where models differ each of them runs every kernel, and
no figure ever mixes two.
"""

from __future__ import annotations

import ctypes
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import machine
from .ahead import builds
from .session import NoVerdictError, append, done_keys, say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .items import Item

FEWEST_LANES, MOST_LANES = 2, 8
"""Processes a GPU where kernels compile: one is measured while the others build, which takes some seven times as long
(45 to 70 s a torch extension, 10 s a measurement)."""
CORES_A_BUILD = 2
"""An extension's C++ and CUDA parts are compiled side by side."""
RESTARTS = 3
"""How often a lane that dies is started again."""
POLL_S = 0.2
NO_VERDICT = 4
"""Exit status of a lane that cannot reach any verdict on its device."""

BOOT = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("kbrunner", sys.argv[1] + "/__init__.py", submodule_search_locations=[sys.argv[1]])
package = importlib.util.module_from_spec(spec); sys.modules["kbrunner"] = package; spec.loader.exec_module(package)
from kbrunner import lanes
sys.exit(lanes.main(sys.argv[2]))
"""  # noqa: E501  one line for a person
"""Loads the package by place: in a bundle it has no name that Python finds."""


@dataclass(frozen=True)
class Device:
    """One device to measure on.

    Args:
        name: As the user wrote it: `0`, `GPU-…`, or `cpu:0` for a pretended one.
        visible: What CUDA_VISIBLE_DEVICES says in its lanes; None on the CPU.
    """

    name: str
    visible: str | None

    @property
    def torch(self) -> str:
        """The device as a lane sees it: there is but one GPU."""
        return "cpu" if self.visible is None else "cuda:0"


@dataclass(frozen=True)
class Options:
    """What a run's verdicts depend on beside the kernels."""

    budget_s: float | None = None
    no_sandbox: bool = False
    baselines: tuple[str, ...] = ()
    replay: str | None = None
    each: bool = False
    """Every device measures every kernel, so that devices can be compared."""


@dataclass
class Summary:
    """What became of a run."""

    documents: list[dict[str, Any]] = field(default_factory=list)
    wall_s: float = 0.0
    lost: list[str] = field(default_factory=list)
    """Labels of kernels that have no result: their lanes died each time, or no device works."""
    restarts: int = 0


def devices_of(text: str) -> list[Device]:
    """Read `0,1`, `all`, GPU uuids, or `cpu:0,cpu:1` (pretended devices, for tests).

    A number counts within CUDA_VISIBLE_DEVICES where that is set.

    Raises:
        NoVerdictError: no such list, a device twice, or no GPU for `all`.
    """
    visible = [v.strip() for v in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if v.strip()]
    names = [n.strip() for n in text.split(",")]
    if names == ["all"]:
        names = [str(i) for i in range(len(visible) or gpu_count())]
        if not names:
            raise NoVerdictError("the driver names no GPU", "--devices 0,1 names them")
    found = []
    for name in names:
        if name.startswith("cpu"):
            found.append(Device(name, None))
        elif name.isascii() and name.isdigit():
            if visible and int(name) >= len(visible):
                raise NoVerdictError(f"device {name} is not among CUDA_VISIBLE_DEVICES={','.join(visible)}")
            found.append(Device(name, visible[int(name)] if visible else str(int(name))))
        elif name.startswith(("GPU-", "MIG-")):
            found.append(Device(name, name))
        else:
            raise NoVerdictError(f"no such device: {name!r}", "--devices 0,1 or all")
    if len({d.visible or d.name for d in found}) != len(found):
        raise NoVerdictError("a device is named twice", "--devices 0,1 names each once")
    return found


def gpu_count() -> int:
    """How many GPUs the driver shows, 0 without one."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return 0
    count = ctypes.c_uint()
    return 0 if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) else count.value


def item_id(item: Item) -> str:
    """The hash of an item's content."""
    text = json.dumps(dataclasses.asdict(item), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def put(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    tmp = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with tmp.open("w", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        os.fsync(f.fileno())
    tmp.replace(path)


class Pool:
    """The lanes of all devices over one folder of work.

    Args:
        items: What to verify, in the order of the results.
        devices: Where.
        results: The results file, appended to.
        options: What the verdicts depend on.
        lanes: Processes a device; default one, or where something builds as many as keep the cores busy.
        work: The folder; default beside the results.
        timed_here: Whether lanes run on this machine, whose cores are dealt out to them.
        report: Takes a line of progress.
    """

    def __init__(
        self,
        items: Sequence[Item],
        devices: Sequence[Device],
        results: Path,
        options: Options,
        *,
        lanes: int | None = None,
        work: Path | None = None,
        timed_here: bool = True,
        report: Callable[[str], None] = say,
    ) -> None:
        self.items = {item_id(i): i for i in items}
        self.devices, self.results, self.options = list(devices), results, options
        self.work = (work or results.with_name(results.name + ".work")).resolve()
        self.report = report
        self.summary = Summary()
        self._taken = taken(results, each=options.each)
        self._lanes: dict[int, subprocess.Popen[bytes]] = {}
        self._deaths: dict[int, int] = {}
        self._useless: set[int] = set()
        self._timed_here = timed_here
        self.specs = self._plan(lanes, compiled=any(builds(i) for i in items))

    def _plan(self, lanes: int | None, *, compiled: bool) -> list[dict[str, Any]]:
        """What each lane is told. Cores on which sides are timed belong to one device each."""
        on_gpu = self.devices[0].visible is not None
        # At most half of the cores are reserved, at least one a device where there are that many.
        each = min(3, len(os.sched_getaffinity(0)) // (2 * len(self.devices)))
        quick = machine.quick_cores(each * len(self.devices)) if each and on_gpu and self._timed_here else []
        own = [quick[i :: len(self.devices)] for i in range(len(self.devices))]
        places = max(1, (len(os.sched_getaffinity(0)) - len(quick)) // CORES_A_BUILD)
        if lanes is None:
            lanes = min(MOST_LANES, max(FEWEST_LANES, places // len(self.devices))) if compiled else 1
        return [
            {
                "work": str(self.work),
                "results": str(self.results.resolve()),
                "device": device.torch,
                "name": device.name,
                "visible": device.visible,
                "lane": lane,
                "cores": own[n] if self._timed_here else None,
                "reserved": quick,
                "builds": places,
                **dataclasses.asdict(self.options),
            }
            for lane in range(lanes)
            for n, device in enumerate(self.devices)
        ]

    def run(self) -> Summary:
        """Verify everything; the results file grows as results come.

        Raises:
            NoVerdictError: no device can reach a verdict.
        """
        started = time.monotonic()
        self.prepare()
        try:
            while True:
                before = len(self.summary.documents)
                self._round()
                if not self._left() or len(self.summary.documents) == before or self._all_useless():
                    break
        finally:
            for process in self._lanes.values():
                process.terminate()
            for process in self._lanes.values():
                process.wait()
        self.summary.wall_s = time.monotonic() - started
        self.summary.lost = self._left()
        if self._all_useless() and not self.summary.documents:
            raise NoVerdictError("no device can reach a verdict; see the lines above")
        return self.summary

    def prepare(self) -> None:
        """Write what is to be done."""
        for name, item in self.items.items():
            put(self.work / "items" / f"{name}.json", json.dumps(dataclasses.asdict(item), sort_keys=True))
        put(self.work / "queue.json", json.dumps({"items": list(self.items), "done": sorted(self._taken)}))
        for folder in ("attempts", "groups", "skipped"):  # what an earlier call gave up may work now
            for old in (self.work / folder).glob("*"):
                old.unlink()

    def gather(self) -> Summary:
        """Move results that lanes elsewhere have left into the results file; what is lost has none at all."""
        self._collect()
        have = self._have()
        self.summary.lost = [item.label for name, item in self.items.items() if not have[name]]
        return self.summary

    def _all_useless(self) -> bool:
        return len(self._useless) == len(self.specs)

    def _round(self) -> None:
        """Start every lane that works, and wait until all have found nothing more to do."""
        for n in range(len(self.specs)):
            if n not in self._useless:
                self._start(n)
        while self._lanes:
            time.sleep(POLL_S)
            self._collect()
            for n, process in list(self._lanes.items()):
                code = process.poll()
                if code is None:
                    continue
                del self._lanes[n]
                if code == NO_VERDICT:
                    self._useless.add(n)
                elif code:
                    self._died(n, code)
        self._collect()

    def _died(self, n: int, code: int) -> None:
        self._deaths[n] = self._deaths.get(n, 0) + 1
        spec = self.specs[n]
        how = f"signal {-code}" if code < 0 else f"exit {code}"
        again = self._deaths[n] <= RESTARTS
        self.report(f"[{spec['name']}] lane {spec['lane']} died ({how}); {'started again' if again else 'given up'}")
        if again:
            self.summary.restarts += 1
            self._start(n)
        else:
            self._useless.add(n)

    def _start(self, n: int) -> None:
        spec = self.specs[n]
        env = dict(os.environ)
        if spec["visible"] is not None:
            # Numbers as the driver's own tools count.
            env |= {"CUDA_VISIBLE_DEVICES": spec["visible"], "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        here = str(Path(__file__).resolve().parent)
        self._lanes[n] = subprocess.Popen(
            [sys.executable, "-I", "-c", BOOT, here, json.dumps(spec)], env=env, stdin=subprocess.DEVNULL, cwd="/"
        )

    def _collect(self) -> None:
        """Move finished documents into the results file."""
        for path in sorted((self.work / "results").glob("*.json"), key=lambda p: p.stat().st_mtime_ns):
            if path.stem in self._taken:
                continue
            document = json.loads(path.read_text(encoding="utf-8"))
            self._taken.add(path.stem)
            if document["schedule"]["item"] not in self.items:
                continue  # of an earlier call with other kernels
            append(self.results, document)
            self.summary.documents.append(document)

    def _left(self) -> list[str]:
        """Labels of items without a result from each device, or from one of each model, that works."""
        have = self._have()
        wanted = {p.name for p in (self.work / "groups").glob("*")}
        return [item.label for name, item in self.items.items() if not wanted or wanted - have[name]]

    def _have(self) -> dict[str, set[str]]:
        """The groups of devices of which there is a result, for each item."""
        have: dict[str, set[str]] = {name: set() for name in self.items}
        for path in (self.work / "results").glob("*.json"):
            found = json.loads(path.read_text(encoding="utf-8"))["schedule"]
            have.setdefault(found["item"], set()).add(found["of"])
        for path in (self.work / "skipped").glob("*"):
            name, _, group = path.name.partition("@")
            have.setdefault(name, set()).add(group)
        return have


def taken(results: Path, *, each: bool) -> set[str]:
    """The names of results that stand in a results file: keys, with the device where each has its own."""
    if not each:
        return done_keys(results)
    names = set()
    try:
        lines = results.read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    for line in lines:
        try:
            document = json.loads(line)
            names.add(f"{document['key']}@{document['schedule']['device']}")
        except (ValueError, KeyError, TypeError):
            continue
    return names
