"""One kernel, from its source to its result document."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import secrets
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from . import PROTOCOL, SCHEMA, attribution, challenge, floor, gates, hints, machine, memory, pairs, procs, side, timing
from .challenge import Checks, Limits
from .verdict import FASTER, Refusal, Speed, comparable, eager_claim, judge_speed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .items import Item
    from .session import Session

PUBLIC_SEED = 42
"""The construction seed of KernelBench. A kernel with weights embedded for it passes with this one and
fails with the next, secret one."""


SLOWED = 1.25
"""A reference that takes this many times longer beside the candidate than behind it, as median over pairs."""

PROFILED = 0.5
"""A candidate whose own profiler saw this much more GPU time than its events did contradicts itself."""

LAUNCH_ONLY = 1.05
"""A speedup whose graph-against-graph interval ends below this is not the kernel's."""


class Verification:
    """State of one verification on the supervisor's side."""

    def __init__(self, session: Session, item: Item) -> None:
        self.session, self.item, self.device = session, item, session.device
        self.zygote = session.zygote
        self.started = time.monotonic()
        self.rng = random.Random(secrets.randbits(128))  # noqa: S311  the seed is the secret
        self.replay = session.replays.get((item.kernel_sha256, item.reference_sha256))
        self.first_seed = PUBLIC_SEED
        self.limits = Limits.of(session.budget_s)
        self.checks = Checks()
        self.badges: list[str] = [f"SUSPECT:{name}" for name in hints.beyond(item.kernel, item.reference, item.cast)]
        self.info: dict[str, Any] = {}
        self.files: memory.Files
        self.oracle: procs.Worker
        self._boxes: dict[str, Any] = {}
        self.built: bool | None = None
        if ready := session.prepared.pop(item.kernel_sha256, None):
            self._boxes["cand"], self.built = ready
        gpu = session.machine.get("gpu")
        known = comparable(item.claimed_gpu, gpu, from_database=bool(item.run_ids))
        self.claim = item.claimed_speedup if known and eager_claim(item.claimed_baseline) else None
        self.timed: pairs.Timed | None = None
        self.others: dict[str, pairs.Timed | Refusal] = {}
        self.speed: Speed | None = None
        self.klass = "own"
        self.spent: dict[str, float] = {}

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the seconds of this block to the document's account of where the time went."""
        start = time.monotonic()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + time.monotonic() - start

    def badge(self, name: str, *, when: bool) -> None:
        """Add a badge once."""
        if when and name not in self.badges:
            self.badges.append(name)

    @property
    def cores(self) -> list[int]:
        """Cores of which one is chosen for each pair; none where the reference's threads take all of them."""
        if self.device == "cpu" and self.info["threads"] == 1:
            return sorted(os.sched_getaffinity(0))
        return self.session.cores

    def box(self, side: str) -> Any:
        """Return the cell of one side; processes of one side share its build cache."""
        if side not in self._boxes:
            self._boxes[side] = self.zygote.box(self.session.mode, gpu=self.device.startswith("cuda"))
        return self._boxes[side]

    def run(self) -> dict[str, Any]:
        """Reach a verdict and return the document. Never raises for what a candidate or reference does."""
        source = json.dumps(
            {
                "source": self.item.reference,
                "shims": list(self.item.shims),
                "helpers": self.item.helpers,
                "cast": self.item.cast,
            }
        )
        fd = memory.text_file(source)
        self.oracle = procs.Worker(self.zygote, "oracle", files=[fd])
        os.close(fd)
        try:
            return self._document(self._verdict())
        finally:
            self.oracle.close(grace_s=0.2)
            if hasattr(self, "files"):
                self.files.close()
            for box in self._boxes.values():
                self.zygote.clean(box)

    def _verdict(self) -> Refusal | tuple[str, str | None]:
        folder = f"{self.zygote.scratch}/oracle-{secrets.token_hex(6)}"
        asked = {
            "op": "load",
            "device": self.device,
            "folder": folder,
            "secret": secrets.randbits(120),
            "construct_seed": self.first_seed,
            "replay": self.replay["seeds"] if self.replay else None,
        }
        try:
            with self.stage("reference"):
                self.info = self.oracle.ask(asked)
        except procs.OracleError as error:
            self.checks.note("reference", passed=False, error=str(error))
            return Refusal("UNVERIFIABLE", error.reason, "reference", {"error": str(error)}, "unknown")
        except (procs.WorkerDiedError, procs.WorkerTimeoutError):
            self.checks.note("reference", passed=False)
            return Refusal(
                "UNVERIFIABLE", "reference_crashed", "reference", {"output": self.oracle.log()[-500:]}, "unknown"
            )
        self.checks.note("reference", passed=True, draws=self.info["draws"], shapes=self.info["shapes"])
        self.badge("STATEFUL_REFERENCE", when=self.info["stateful"])
        self.badge("TRUTH_FP32", when=self.info["truth"] != "float64")
        null = self.info["degenerate"]
        self.checks.note("power", passed=null is None)
        if null:
            return Refusal(
                "DEGENERATE_PROBLEM",
                None,
                "power",
                {"null_kernel": null, "input_shapes": self.info["input_shapes"]},
                "unknown",
            )
        info = self.info
        layout = memory.Layout.of(
            info["model_bytes"], info["in_bytes"], info["out_bytes"], self.device, info["room"], seeded=info["seeded"]
        )
        self.files = memory.Files(layout)
        self.oracle.send(
            {"op": "attach", "slots_at": layout.slots_at, "names": list(self.files.fds)}, list(self.files.fds.values())
        )
        self.oracle.answer()
        try:
            with self.stage("mutants"):
                self._power()
            return self._challenged() or self._timed()
        except procs.OracleError as error:
            return Refusal("UNVERIFIABLE", error.reason, "reference", {"error": str(error)}, "unknown")

    def _power(self) -> None:
        """Judge mutants of the reference, once a session for each."""
        known = self.session.powers
        if self.item.reference_sha256 not in known:
            known[self.item.reference_sha256] = self.oracle.ask({"op": "mutants"})
        self.checks.detail["power"] = known[self.item.reference_sha256]

    def _challenged(self) -> Refusal | None:
        steps = gates.script(self.info["seeds"], self.info["base_seed"], self.rng)
        with self.stage("build"):
            refused = challenge.build(self)
        with self.stage("gates"):
            refused = refused or challenge.run(self, steps, self.checks)
            if refused is None or refused.word in {"TIMEOUT", "BUILD_FAILED"}:
                return refused
            return self._again(refused, challenge.run(self, steps, Checks()))

    def _again(self, first: Refusal, second: Refusal | None) -> Refusal:
        """A refusal stands when a fresh process earns it too."""
        if second is None:
            return Refusal("FLAKY", "1_of_2", first.gate, first.witness, "flaky")
        if first.word == "HACK" and second.verdict != first.verdict:
            return Refusal("INCORRECT", None, first.gate, first.witness)
        return first

    def _timed(self) -> Refusal | tuple[str, str | None]:
        found = self.oracle.ask({"op": "summary"})
        self.klass = found["class"]
        self.badge("TIES_BROKEN_OTHERWISE", when=found["ties"])
        self.checks.note("G8", passed=self.klass == "own", precision_class=self.klass, error_over_budget=found["ratio"])
        autocast = {"tf32": "tf32", "fp16": "float16", "bf16": "bfloat16"}.get(self.klass)
        base = side.Baseline("eager", autocast)
        with self.stage("timing"):
            result = timing.Timer(self, base).run()
        if isinstance(result, Refusal):
            if result.word not in {"INCORRECT", "HACK", "CRASHED"}:
                return result
            again = timing.Timer(self, base).run()
            if isinstance(again, Refusal) or result.gate != "clock":
                return self._again(result, again if isinstance(again, Refusal) else None)
            # Clocks that disagreed once were a busy machine's.
            self.checks.passed["clock"] = True
            result = again
        missing = gates.MIN_CALLS - result.calls - self.oracle.ask({"op": "summary"})["calls"]
        if missing > 0:
            refused = challenge.run(self, gates.more(missing, self.rng), self.checks)
            if refused:
                return self._again(refused, challenge.run(self, gates.more(missing, self.rng), Checks()))
        self.timed, self.speed = result, result.speed()
        self.badge("SAME_BYTES_TIMED", when=not result.fresh)
        if self.session.device.startswith("cuda"):
            refused = self._on_the_gpu(result)
            if refused:
                return refused
            refused = self._more_baselines(autocast)
            if refused:
                return refused
        else:
            self._floor(result.candidate_s())
        with self.stage("jitter"):
            challenge.jitter(self)
        kept = sum(p.kept for p in result.pairs)
        return judge_speed(self.speed, self.claim, precision_class=self.klass, timed_pairs=kept)

    def _on_the_gpu(self, timed: pairs.Timed) -> Refusal | None:
        """Say whose kernels ran, and refuse a time that the memory cannot have made."""
        for name in attribution.badges(timed.kernels, self.item.kernel):
            self.badge(name, when=True)
        busy, graph, outer = timed.mode("busy"), timed.mode("graph"), timed.outer_speed()
        faster = self.speed is not None and self.speed.word == "faster"
        self.badge("OWN_CLOCK", when=faster and (outer is None or outer.low <= FASTER))
        self.badge("REFERENCE_SLOWED", when=timed.beside() > SLOWED)
        seen_s = sum(k["us"] for k in timed.kernels) * 1e-6
        self.badge("CLOCKS_DISAGREE", when=busy is not None and busy[2] < PROFILED * seen_s)
        vanishes = bool(graph and graph[0].high < LAUNCH_ONLY)
        self.badge("LAUNCH_ONLY", when=vanishes and faster)
        # Without a time on a held GPU the eager one bounds it from above.
        return self._floor(busy[2] if busy else timed.candidate_s())

    def _floor(self, busy_s: float) -> Refusal | None:
        """Compare a call's time with what its work takes at least."""
        with self.stage("floor"):
            found = floor.of(self, busy_s)
        self.checks.note("floor", passed=not found["implausible"], **found)
        self.badge("NEEDS_REVIEW", when=found["needs_review"])
        return Refusal("IMPLAUSIBLE", None, "floor", found, "passed") if found["implausible"] else None

    def _more_baselines(self, autocast: str | None) -> Refusal | None:
        """Time what was asked for beside eager; a wrong or forged answer there counts like one here."""
        for name in dict.fromkeys(self.session.baselines):
            base = side.FURTHER[name]
            if base.compile_mode:
                base = replace(base, autocast=autocast)
            with self.stage(base.name):
                found = timing.Timer(self, base, pairs=3, most=3).run()
            if isinstance(found, Refusal) and found.word in {"INCORRECT", "HACK"}:
                return found
            self.others[base.name] = found
        return None

    def _document(self, outcome: Refusal | tuple[str, str | None]) -> dict[str, Any]:
        item, session = self.item, self.session
        if isinstance(outcome, Refusal):
            word, kind, correctness, gate, witness = (
                outcome.word,
                outcome.kind,
                outcome.correctness,
                outcome.gate,
                outcome.witness,
            )
            speed = None
        else:
            (word, kind), correctness, gate, witness, speed = outcome, "passed", None, None, self.speed
        now = datetime.now(UTC).isoformat(timespec="microseconds")
        key = result_key(item, session.machine, session.device)
        gathered = self._summary() if self.info and not self.info["degenerate"] else {}
        return {
            "schema": SCHEMA,
            "verification_id": hashlib.sha256(f"{key}|{now}".encode()).hexdigest()[:32],
            "key": key,
            "protocol": PROTOCOL,
            "replay_of": self.replay["verification_id"] if self.replay else None,
            "kbstats_version": item.kbstats_version,
            "kernel_sha256": item.kernel_sha256,
            "reference_sha256": item.reference_sha256,
            "suite": item.suite,
            "level": item.level,
            "variant": item.variant,
            "problem_name": item.problem_name,
            "precision": item.precision,
            "run_ids": list(item.run_ids),
            "claimed_speedup": item.claimed_speedup,
            "claimed_baseline": item.claimed_baseline,
            "claimed_gpu": item.claimed_gpu,
            "claim_compared": self.claim is not None,
            "verdict": f"{word}:{kind}" if kind else word,
            "kind": kind,
            "correctness": correctness,
            "speed": speed.word if speed else "not_measured",
            "gate": gate,
            "witness": witness,
            "badges": self.badges,
            "speedup": speed.value if speed else None,
            "speedup_lo": speed.low if speed else None,
            "speedup_hi": speed.high if speed else None,
            "baseline": "eager",
            "precision_class": self.klass if correctness == "passed" else None,
            "cores": list(session.cores) or None,
            "device": "cuda" if session.device.startswith("cuda") else "cpu",
            "gpu_model": session.machine.get("gpu"),
            "sandbox_ok": session.sandbox["ok"],
            "sandbox": session.sandbox,
            "verified_at": now,
            "checks": self.checks.rows(),
            "timings": self._timings(),
            "kernels": self.timed.kernels if self.timed else [],
            "seconds": {name: round(spent, 3) for name, spent in self.spent.items()},
            "gpu_state": session.monitor.summary(self.started) if session.monitor.working else {},
            "baselines": self._baselines(),
            "machine": session.machine,
            "seeds": {
                "construct": self.first_seed,
                "inputs": self.info.get("seeds", []),
                "timed": self.info.get("base_seed"),
            },
            "errors": gathered.get("errors", {}),
            "would_pass": gathered.get("would_pass", {}),
            "verified_calls": gathered.get("calls", 0) + (self.timed.calls if self.timed else 0),
        }

    def _timings(self) -> list[dict[str, Any]]:
        rows = self.timed.rows("eager") if self.timed else []
        for name, other in self.others.items():
            rows += other.rows(name) if isinstance(other, pairs.Timed) else []
        return rows

    def _summary(self) -> dict[str, Any]:
        try:
            return self.oracle.ask({"op": "summary"}, 10.0)
        except (procs.OracleError, procs.WorkerDiedError, procs.WorkerTimeoutError):
            return {}

    def _baselines(self) -> dict[str, Any]:
        if self.speed is None or self.timed is None:
            return {}
        found = self.timed.baselines("eager")
        found["eager"] |= {"input_shapes": self.info["input_shapes"], "precision_class": self.klass}
        for name, other in self.others.items():
            found |= other.baselines(name) if isinstance(other, pairs.Timed) else {name: {"missing": other.verdict}}
        return found


def result_key(item: Item, found: dict[str, Any], device: str) -> str:
    """Return what makes a result the same one: kernel, reference, precision, rules and machine."""
    parts = (
        item.kernel_sha256,
        item.reference_sha256,
        str(item.precision),
        *item.shims,
        PROTOCOL,
        device.partition(":")[0],
        machine.identity(found),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]
