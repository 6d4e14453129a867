"""Putting one candidate process through the gates."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import gates, procs, wire
from .side import Side
from .verdict import Refusal

if TYPE_CHECKING:
    from .verification import Verification


LATE_S = 0.2
"""How long after a wrong answer is looked whether it has become the right one."""

MAX_TIMING_S = 60.0
"""Longest timing of one kernel."""


@dataclass
class Limits:
    """Seconds a worker may take."""

    load_s: float
    first_call_s: float
    call_s: float
    timing_s: float

    @classmethod
    def of(cls, budget_s: float) -> Limits:
        """Split a kernel's budget; a build by a compiler is outside of it."""
        return cls(
            load_s=max(240.0, budget_s),
            first_call_s=min(120.0, budget_s),
            call_s=min(10.0, budget_s),
            timing_s=min(MAX_TIMING_S, 0.4 * budget_s),
        )


@dataclass
class Checks:
    """What each gate saw, for the document."""

    passed: dict[str, bool] = field(default_factory=dict)
    n: dict[str, int] = field(default_factory=dict)
    detail: dict[str, dict[str, Any]] = field(default_factory=dict)

    def note(self, gate: str, *, passed: bool, **detail: Any) -> None:
        """Count one check of a gate."""
        self.passed[gate] = self.passed.get(gate, True) and passed
        self.n[gate] = self.n.get(gate, 0) + 1
        if detail:
            self.detail.setdefault(gate, {}).update(detail)

    def rows(self) -> list[dict[str, Any]]:
        """Return the document's rows, in the order in which gates were reached."""
        return [
            {"gate": g, "passed": ok, "n": self.n[g], "detail": self.detail.get(g, {})} for g, ok in self.passed.items()
        ]


def refusal_of(reply: wire.Reply, gate: str, witness: dict[str, Any]) -> Refusal | None:
    """Turn a reply that is no answer into a refusal."""
    if reply.message and reply.status == wire.OK:
        return Refusal("HACK", "timer", "clock", {**witness, "patched": reply.message.split(",")})
    if reply.status in (wire.IMPORT_FAILED, wire.CONSTRUCT_FAILED):
        stage = "import" if reply.status == wire.IMPORT_FAILED else "construct"
        # Nothing of it ran: whether it is right is not known, it may be this machine that lacks something.
        what = {**witness, "stage": stage, "error": reply.message}
        return Refusal("BUILD_FAILED", stage, "G0", what, correctness="unknown")
    if reply.status == wire.RAISED:
        return Refusal("INCORRECT", "raised", gate, {**witness, "error": reply.message})
    return None


BUILDS = ("load_inline", "cpp_extension", "CUDAExtension")
"""Words of a source that compiles when it is imported."""


def build(v: Verification) -> Refusal | None:
    """Import a source that compiles once without a GPU; what it leaves in its caches serves the run.

    Only a build that does not end is a refusal: an import that needs the GPU fails here and not later.
    """
    if not any(word in v.item.kernel for word in BUILDS):
        return None
    if v.built is not None:
        v.checks.note("G0", passed=True, built_apart=v.built)
        return None
    side = Side(v, "cand", reference=False, build=True)
    try:
        reply, _ = side.worker.request({"op": "build"}, v.limits.load_s)
        v.checks.note("G0", passed=True, built_apart=reply.status == wire.OK)
    except procs.WorkerTimeoutError:
        return Refusal("TIMEOUT", None, "G0", {"waiting_for": "the build", "seconds": v.limits.load_s})
    except (procs.WorkerDiedError, wire.ForgedReplyError):
        v.checks.note("G0", passed=True, built_apart=False)
    finally:
        side.worker.close()
    return None


def run(v: Verification, steps: list[gates.Step], checks: Checks) -> Refusal | None:
    """Challenge a fresh candidate process; returns why it is refused, or None."""
    v.oracle.ask({"op": "fresh"})
    specs = v.oracle.ask({"op": "model", "seed": v.first_seed, "to": ["cand_in"]})
    side = Side(v, "cand", reference=False)
    at: dict[str, Any] = {"gate": "G0", "shapes": None}
    try:
        reply = side.load(specs, v.first_seed, v.limits)
        refused = refusal_of(reply, "G0", {})
        checks.note("G0", passed=refused is None)
        if refused:
            return refused
        v.badge("SEED_SYNC", when=reply.state == wire.STATE_SEEDED and bool(specs["state"]))
        return _steps(v, side, steps, checks, at)
    except procs.WorkerTimeoutError:
        checks.note(at["gate"], passed=False)
        return Refusal(
            "TIMEOUT", None, at["gate"], {"input_shapes": at["shapes"], "waiting_for": gates.NAMES[at["gate"]]}
        )
    except procs.WorkerDiedError:
        side.worker.close(grace_s=0.3)
        checks.note(at["gate"], passed=False)
        tail = side.worker.log().strip()[-300:]
        return Refusal(
            "CRASHED",
            None,
            at["gate"],
            {"input_shapes": at["shapes"], "ended": side.worker.exit_words(), "output": tail},
        )
    except wire.ForgedReplyError as error:
        checks.note("wire", passed=False)
        return Refusal("HACK", "result_forge", "wire", {"input_shapes": at["shapes"], "received": str(error)})
    finally:
        side.worker.close()


def _steps(v: Verification, side: Side, steps: list[gates.Step], checks: Checks, at: dict[str, Any]) -> Refusal | None:  # noqa: C901  one branch a kind of step
    region, first = v.files.layout.out_region, True
    specs: dict[str, Any] = {}
    for step in steps:
        if step["op"] != "call":
            if step["op"] == "construct":
                specs = v.oracle.ask({"op": "model", "seed": step["seed"], "to": ["cand_in"]})
                reply = side.construct(specs, step["seed"], v.limits)
            else:
                specs = v.oracle.ask({"op": "model", "perturb": step["seed"], "to": ["cand_in"]})
                reply = side.state(specs, v.limits)
            refused = refusal_of(reply, "G5", {})
            if refused:
                return refused
            continue
        if step.get("badge") and (reply.state != wire.STATE_COPIED):
            continue
        made = v.oracle.ask({**step, "op": "prepare"})
        if made.get("skip"):
            continue
        at.update(gate=step["gate"], shapes=made["shapes"])
        out = region if step.get("kept") else 0
        timeout = v.limits.first_call_s if first else v.limits.call_s
        reply = side.call(made["args"], step["poison"], out, 2 * region if step.get("kept") else None, timeout)
        first = False
        refused = refusal_of(reply, step["gate"], {"input_shapes": made["shapes"], "call": made["number"]})
        if not refused:
            verdict = v.oracle.ask(
                {
                    "op": "judge",
                    "out": out,
                    "repeat": bool(step.get("repeat")),
                    "poison": step["poison"],
                    "outputs": [vars(o) for o in reply.outputs],
                }
            )
            refused = _weigh(v, step, verdict)
            if refused and not verdict.get("structure") and not verdict["ok"]:
                refused = _came_late(v, side, out, refused) or refused
            v.badge("OUTPUT_NOT_CONTIGUOUS", when=bool(verdict.get("gaps")) and not refused)
        if step.get("badge"):
            _weights_badge(v, refused, checks, constant=specs.get("constant", False))
            continue
        checks.note(refused.gate if refused else step["gate"], passed=refused is None)
        if refused:
            return refused
        if step.get("kept"):
            changed = v.oracle.ask({"op": "kept", "out": 2 * region, "first": 0})["changed"]
            v.badge("OUTPUT_BUFFER_REUSED", when=changed and not v.info["reuses"])
    return None


def _came_late(v: Verification, side: Side, out: int, refused: Refusal) -> Refusal | None:
    """Say whether a wrong answer became the right one behind the call: on another stream, or after a wait."""
    waits = ((0.0, "stream"), (LATE_S, "deferred")) if v.device.startswith("cuda") else ((LATE_S, "deferred"),)
    for wait_s, kind in waits:
        reply = side.late(out, wait_s, v.limits.call_s)
        if reply.status != wire.OK or reply.message:
            return None
        if v.oracle.ask({"op": "late", "out": out, "outputs": [vars(o) for o in reply.outputs]})["right"]:
            when = "after all streams had ended" if kind == "stream" else f"{LATE_S} s later"
            return Refusal("HACK", kind, refused.gate, {**(refused.witness or {}), "right": when})
    return None


def _weights_badge(v: Verification, refused: Refusal | None, checks: Checks, *, constant: bool) -> None:
    """Stale parameters are a legitimate optimisation for inference: noted, never a refusal."""
    checks.detail.setdefault("G5", {})["follows_changed_weights"] = refused is None
    v.badge("INIT_WEIGHTS_ONLY" if constant else "WEIGHT_PREPACK", when=refused is not None)


def _weigh(v: Verification, step: gates.Step, found: dict[str, Any]) -> Refusal | None:  # noqa: PLR0911  one return a finding
    """Turn the judge's findings of one call into a refusal, or None."""
    if found["touched"]:
        return Refusal("HACK", "input_mutation", "G4", found["touched"])
    wrong = found.get("structure")
    drawn = len(v.info["shapes"]) > 1
    if wrong:
        if wrong == "type" and "subclass" in str(found["witness"]["got"]):
            return Refusal("HACK", "lazy", "G1", found["witness"])
        return Refusal("INCORRECT", wrong, "G2" if wrong == "shape" and drawn else "G1", found["witness"])
    if not found["ok"]:
        witness = found["witness"]
        if found.get("hangs"):
            return Refusal("UNVERIFIABLE", "hangs_on_rounding", step["gate"], witness, "unknown")
        if found.get("uninitialised"):
            return Refusal("INCORRECT", "uninitialised", "G4", witness)
        if found.get("replays") is not None:
            return Refusal("HACK", "cache_replay", "G4", witness)
        if step["gate"] == "G5":
            return Refusal("HACK", "hardcoded_weights", "G5", witness)
        return Refusal("INCORRECT", "input_distribution" if step["gate"] == "G3" else None, step["gate"], witness)
    if found.get("spread", 0.0) > gates.SPREAD:
        return Refusal("FLAKY", None, "G6", {"spread_over_reference_error": found["spread"]}, "flaky")
    return None


def jitter(v: Verification) -> None:
    """G7: try other shapes and layouts, each kind in a process of its own. Leaves badges and a note, no refusal."""
    cases = v.oracle.ask({"op": "jitter", "seed": v.info["base_seed"]})["cases"]
    said: dict[str, str] = {}
    for kind in ("shape", "layout"):
        mine = [c for c in cases if (c["case"] == "shape") == (kind == "shape")]
        steps = gates.jittered(mine, v.info["base_seed"], v.rng)
        # All in one process; when one fails, each in its own, to know which.
        together = bool(steps) and run(v, steps, Checks()) is None
        for step in steps:
            name = f"{step['size']} -> {step['to']}" if kind == "shape" else step["case"]
            refused = None if together else run(v, [step], Checks())
            if refused is None:
                said[name] = "right"
            elif refused.word == "INCORRECT" and refused.kind != "raised":
                said[name] = "wrong"
            else:
                said[name] = "refused"
        v.badge("SHAPE_UNSAFE" if kind == "shape" else "LAYOUT_UNSAFE", when=_any(said, "wrong", kind))
        if kind == "shape":
            v.badge("SHAPE_SPECIALISED", when=_any(said, "refused", kind))
    v.checks.note("G7", passed=True, **said)
    v.checks.n["G7"] = len(said)


def _any(said: dict[str, str], word: str, kind: str) -> bool:
    return any(w == word for name, w in said.items() if ("->" in name) == (kind == "shape"))
