"""One lane: a process that takes kernels from the folder of work and runs them on its one device."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import ahead, machine, schedule, syscalls
from .items import Item
from .session import NoVerdictError, Session, finite

if TYPE_CHECKING:
    from collections.abc import Iterator

ATTEMPTS = 3
"""How often a kernel is begun whose lane dies before its result is written."""
WAIT_S = 0.05


def lock_file(name: str) -> Path:
    """Where a device's lock is: one a host, for all who measure with kbstats."""
    safe = "".join(c if c.isalnum() or c in "-." else "_" for c in name)
    # Not where $TMPDIR says: every job of a cluster has one of its own.
    return Path("/tmp") / f"kbstats-device-{safe}.lock"  # noqa: S108  the one folder that all of a host share


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock file; waits for whoever has it. The system frees that of a killed process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except PermissionError:  # another user made it; to lock it, reading is enough
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Try to hold a lock file; whether it was free."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(fd)


@contextlib.contextmanager
def slot(folder: Path, count: int) -> Iterator[None]:
    """Hold one of the places that builds of all devices share."""
    while True:
        for n in range(count):
            with claimed(folder / f"{n}.lock") as mine:
                if mine:
                    yield
                    return
        time.sleep(WAIT_S)


class Lane:
    """What one process does.

    Args:
        spec: From `schedule.Pool`.
    """

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.work = Path(spec["work"])
        self.device_lock = lock_file(spec["visible"] if spec["visible"] is not None else spec["name"])
        queue = json.loads((self.work / "queue.json").read_text(encoding="utf-8"))
        self.done = set(queue["done"])
        self.items: dict[str, Item] = {}
        for name in spec.get("only") or queue["items"]:
            fields = json.loads((self.work / "items" / f"{name}.json").read_text(encoding="utf-8"))
            fields["shims"], fields["run_ids"] = tuple(fields["shims"]), tuple(fields["run_ids"])
            self.items[name] = Item(**fields)
        everywhere = os.sched_getaffinity(0)
        if left := set(machine.other_cores(spec["reserved"])):
            # What is not timed stays off the cores on which some device's sides are.
            os.sched_setaffinity(0, left)
        with locked(self.device_lock):
            self.session = Session(
                spec["device"],
                budget_s=spec["budget_s"],
                no_sandbox=spec["no_sandbox"],
                results=Path(spec["results"]),
                baselines=spec["baselines"],
                replay=Path(spec["replay"]) if spec["replay"] else None,
                cores=spec["cores"],
            )
        # A result's key names the machine's cores, however they are dealt out here.
        self.session.machine["cores"] = len(everywhere)
        self.session.machine["device_name"] = spec["name"]
        # Which results stand for each other: those of one GPU model, or of one device.
        model = str(self.session.machine.get("gpu") or "cpu")
        of = spec["name"] if spec["each"] else model
        self.of = hashlib.sha256(of.encode()).hexdigest()[:16]
        schedule.put(self.work / "groups" / self.of, of)

    def say(self, text: str) -> None:
        """Report progress on standard error."""
        print(f"[{self.spec['name']}] {text}", file=sys.stderr, flush=True)  # noqa: T201  its output

    def key(self, item: Item) -> str:
        """The name of an item's result: that of the document, and of the device where each has its own."""
        key = self.session.key(item)
        before = self.session.replays.get((item.kernel_sha256, item.reference_sha256))
        if before:
            key += f"-again-{before['verification_id']}"
        return key + (f"@{self.spec['name']}" if self.spec["each"] else "")

    def run(self) -> None:
        """Take kernels until none is left that nobody works on."""
        for name, item in self.items.items():
            if self.session.replays and (item.kernel_sha256, item.reference_sha256) not in self.session.replays:
                self._skip(name)
                continue
            key = self.key(item)
            with claimed(self.work / "claims" / f"{key}.lock") as mine:
                if not mine or (self.work / "results" / f"{key}.json").exists():
                    continue
                if key in self.done:
                    self._skip(name)
                    self.say(f"{item.label}: already in {self.spec['results']}")
                    continue
                if self._begun(key) > ATTEMPTS:
                    continue
                self._verify(name, item, key)

    def _skip(self, name: str) -> None:
        schedule.put(self.work / "skipped" / f"{name}@{self.of}", "")

    def _begun(self, key: str) -> int:
        """Count one more attempt; how many there were, this one included."""
        path = self.work / "attempts" / key
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as f:
            f.write(b".")
            f.flush()
            return f.tell()

    def _verify(self, name: str, item: Item, key: str) -> None:
        begun = time.time()
        if ahead.builds(item):
            with slot(self.work / "slots", self.spec["builds"]):
                started = time.monotonic()
                ahead.build(self.session, item)
                build_s = time.monotonic() - started
        else:
            build_s = 0.0
        waiting = time.monotonic()
        with locked(self.device_lock):
            got = time.monotonic()
            at = time.time()
            self.say(f"{item.label}: running")
            document = self.session.verify(item)
            held_s = time.monotonic() - got
        document["schedule"] = {
            "item": name,
            "of": self.of,
            "device": self.spec["name"],
            "lane": self.spec["lane"],
            "begun_at": begun,
            "build_s": round(build_s, 3),
            "waited_s": round(got - waiting, 3),
            "held_at": at,
            "held_s": round(held_s, 3),
        }
        schedule.put(self.work / "results" / f"{key}.json", json.dumps(finite(document), allow_nan=False, default=str))
        speed = f" {document['speedup']:.2f}x" if document["speedup"] else ""
        self.say(f"{item.label}: {document['verdict']}{speed} in {held_s:.0f} s")


def main(text: str) -> int:
    """Run a lane until nothing is left for it. The exit status says whether it should be started again."""
    syscalls.die_with_parent()
    spec = json.loads(text)
    try:
        lane = Lane(spec)
        try:
            lane.run()
        finally:
            lane.session.close()
    except NoVerdictError as error:
        print(f"[{spec['name']}] error: {error}" + (f" (try: {error.hint})" if error.hint else ""), file=sys.stderr)  # noqa: T201  its output
        return schedule.NO_VERDICT
    except KeyboardInterrupt:
        return 130
    return 0
