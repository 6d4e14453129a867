"""The trusted worker: owns the reference and the secret seeds' inputs, and judges what comes back.

Answers JSON requests of the supervisor. Inputs go into the candidate's memory file, outputs are read
from it; between the two the oracle holds copies that no candidate can reach.
"""

from __future__ import annotations

import json
import os
import random
import socket
import traceback
from typing import Any

import torch

from . import attribution, batches, errors, floor, inputs, jitter, machine, mutants, power, tensors, wire
from .judge import Case, Judge
from .problem import Problem, UnjudgeableError


class Oracle:
    """State of one verification on the trusted side."""

    def __init__(self) -> None:
        self.problem: Problem
        self.judge_: Judge
        self.case: Case
        self.last: Any = None
        self.number = 0
        self.slots_at = 0
        self.memory: dict[str, Any] = {}
        self.files: list[int] = []
        self.mutable: list[bool] = []
        self.block: list[tuple[int, torch.Tensor]] = []
        self.block_base: Any = None
        self.block_seed: int | None = None
        self.base: Any = None
        self.base_seed: int | None = None
        self.timed_outputs: list[torch.Tensor] = []
        self.timed_shapes: list[list[int]] = []
        self.found: dict[tuple, list[int]] = {}
        self.same: list[Case] = []
        self.folder = ""

    # ------------------------------------------------------------------ set-up
    def load(self, m: dict[str, Any]) -> dict[str, Any]:
        """Load the reference, find its shapes, and check that it can be judged."""
        if m["device"].startswith("cuda"):
            torch.cuda.set_device(m["device"])
            torch.backends.cuda.matmul.allow_tf32 = False
            torch.backends.cudnn.allow_tf32 = False
        source = os.pread(self.files[0], os.fstat(self.files[0]).st_size, 0).rstrip(b"\0")
        self.problem = Problem({**m, **json.loads(source)}, m["folder"])
        self.judge_ = Judge(self.problem)
        self.problem.construct(m["construct_seed"])
        threads = self.problem.choose_threads(self.problem.draw(m["construct_seed"]))
        found, draws = self.problem.discover()
        self.found = found
        rng = self.problem.rng
        self.problem.check(self.problem.draw(found[next(iter(found))][0]))
        again = m.get("replay")
        seeds = again["inputs"] if again else inputs.choose_draws(found, rng, lambda: rng.getrandbits(62))
        # Timing and the sweep use one recorded draw: the largest, which a fixed size is most likely to miss.
        shape = max(found, key=lambda s: sum(torch.Size(x).numel() for x in s))
        base = again["timed"] if again else found[shape][0]
        if again:
            shape = inputs.shapes_of(self.problem.draw(base))
            found.setdefault(shape, []).append(base)
        first = self.build("G2", "nominal", self.problem.draw(base))
        if not first.expected:
            raise UnjudgeableError("no_output", "the reference returns no tensor and no number")
        same = [first, *(self.build("G2", "nominal", v) for v in self._more(shape, 2))]
        self.timed_outputs, self.timed_shapes = first.expected, first.shapes
        in_bytes = max(self.measure_in(self.problem.draw(s[0])) for s in list(found.values())[:32])
        self.same, self.folder = same, m["folder"]
        return {
            "draws": draws,
            "shapes": [[list(t) for t in s] for s in found][:64],
            "seeds": seeds,
            "base_seed": base,
            "in_bytes": in_bytes,
            "seeded": self.problem.device != "cpu" and any(t.is_floating_point() for t in tensors.leaves(first.value)),
            "room": 2 * in_bytes + (1 << 16) if in_bytes <= jitter.MAX_BYTES else in_bytes,
            "out_bytes": sum(wire.align(t.numel() * t.element_size()) for t in first.expected),
            "out_nbytes": [t.numel() * t.element_size() for t in first.expected],
            "model_bytes": self.model_bytes(),
            "stateful": self.problem.stateful,
            "reuses": len(same) > 1 and self.problem.reuses(same[0].value, same[1].value),
            "truth": self.problem.truth_dtype,
            "degenerate": power.degenerate(self.judge_, same),
            "input_shapes": first.shapes,
            "threads": threads,
        }

    def _more(self, shape: tuple, count: int) -> list[Any]:
        values = [self.problem.draw(s) for s in self.found[shape][1 : 1 + count]]
        tries = 0
        while len(values) < count and tries < 400:
            value = self.problem.draw(self.problem.rng.getrandbits(62))
            tries += 1
            if inputs.shapes_of(value) == shape:
                values.append(value)
        return values

    def measure_in(self, value: Any) -> int:
        """Bytes of one set of inputs as they are laid out."""
        return sum(wire.align(t.numel() * t.element_size()) for t in tensors.leaves(value))

    def model_bytes(self) -> int:
        """Bytes of constructor arguments and parameters as they are laid out."""
        held = [*tensors.leaves(self.problem.init), *self.problem.model.state_dict().values()]
        return sum(wire.align(t.numel() * t.element_size()) for t in held) + wire.ALIGN

    def attach(self, m: dict[str, Any]) -> dict[str, Any]:
        """Map the memory files that came with the request."""
        self.memory = {name: tensors.open_map(fd) for name, fd in zip(m["names"], self.files, strict=True)}
        self.slots_at = m["slots_at"]
        return {}

    # ------------------------------------------------------------------ model
    def model(self, m: dict[str, Any]) -> dict[str, Any]:
        """Build (or bend) the reference's parameters and lay them out for a worker."""
        if m.get("seed") is not None:
            self.problem.construct(m["seed"])
        if m.get("perturb") is not None:
            self.problem.perturb(torch.Generator().manual_seed(m["perturb"]))
        specs: dict[str, Any] = {}
        for name in m["to"]:
            offset = 0

            def place(tensor: torch.Tensor, name: str = name) -> int:
                nonlocal offset
                at, size = offset, tensor.numel() * tensor.element_size()
                self.write(name, at, tensor)
                offset = wire.align(at + size)
                return at

            specs["init"] = tensors.encode(self.problem.init, place)
            specs["state"] = {k: tensors.encode(v, place) for k, v in self.problem.model.state_dict().items()}
        specs["constant"] = self._has_constant_parameters()
        return specs

    def _has_constant_parameters(self) -> bool:
        return any(p.numel() > 1 and bool((p == p.reshape(-1)[0]).all()) for p in self.problem.model.parameters())

    def write(self, name: str, at: int, tensor: torch.Tensor) -> None:
        """Copy a tensor's bytes into a memory file."""
        if tensor.numel():
            raw = tensors.as_bytes(tensors.dense(tensor))
            torch.frombuffer(self.memory[name], dtype=torch.uint8, count=raw.numel(), offset=at).copy_(raw)

    # ------------------------------------------------------------------ calls
    def build(self, gate: str, label: str, value: Any) -> Case:
        """Compute what has to come out for these inputs."""
        expected = self.problem.run(value)
        forms, truth = self.problem.forms, self.problem.truth(value)
        own = [
            errors.measure_beside(e, e, t) if e.is_floating_point() else errors.NONE
            for e, t in zip(expected, truth, strict=True)
        ]
        self.number += 1
        return Case(self.number, gate, label, value, {}, expected, truth, own, forms=forms)

    def prepare(self, m: dict[str, Any]) -> dict[str, Any]:
        """Make the inputs of one call and write them to the candidate's memory."""
        rng = random.Random(m.get("bend_seed", 0))  # noqa: S311  the seed is the secret
        generator = torch.Generator().manual_seed(m.get("bend_seed", 0))
        if m["kind"] == "seed":
            value = self.problem.draw(m["seed"])
        elif m["kind"] == "bend":
            value = inputs.bend(tensors.to_device(self.problem.draw(m["seed"]), "cpu"), m["case"], rng, generator)
        elif m["kind"] == "sparse":
            value = inputs.sparse(self.last, m["case"], rng)
        elif m["kind"] == "jitter":
            value = self.problem.draw(m["seed"])
            value = jitter.shaped(value, m["size"], m["to"]) if m["case"] == "shape" else value
        else:
            value = self.last
        value = tensors.rebuild(value, [tensors.dense(t) for t in tensors.leaves(value)])
        case = self.build(m["gate"], m["label"], value)
        if m["kind"] == "bend" and not all(
            torch.isfinite(t).all() and torch.isfinite(e).all() for t, e in zip(case.truth, case.expected, strict=True)
        ):
            # Outside the reference's own domain: nothing to hold a candidate to.
            return {"skip": True}
        offset = 0

        def place(tensor: torch.Tensor) -> int:
            nonlocal offset
            at = offset
            self.write("cand_in", self.slots_at + at, tensor)
            offset = wire.align(at + tensor.numel() * tensor.element_size())
            return at

        layout = m["kind"] == "jitter" and m["case"] in jitter.LAYOUTS
        case.spec = jitter.encode(value, m["case"], place) if layout else tensors.encode(value, place)
        case.mutable = self.problem.mutates(value) if m["gate"] == "G2" else [False] * len(tensors.leaves(value))
        if m["gate"] != "G2" and self.mutable:
            case.mutable = self.mutable
        self.mutable = case.mutable
        self.case, self.last = case, value
        return {"args": case.spec, "shapes": case.shapes, "number": case.number}

    def judge(self, m: dict[str, Any]) -> dict[str, Any]:
        """Read the output memory and decide the call that was prepared last."""
        case = self.case
        wrong = self.judge_.structure(case, m["outputs"])
        touched = self._touched(case)
        if wrong:
            self.judge_.calls += 1
            return {"ok": False, "structure": wrong[0], "witness": wrong[1], "touched": touched}
        got = self._answer(m["out"])
        result = self.judge_.judge(case, got, repeat=m["repeat"])
        if not result["ok"]:
            result["uninitialised"] = unwritten(got, m["poison"])
        gaps = any(
            o["flags"] & wire.NOT_CONTIGUOUS and form.contiguous
            for o, form in zip(m["outputs"], case.forms, strict=True)
        )
        return {**result, "touched": touched, "gaps": gaps}

    def _answer(self, offset: int) -> list[torch.Tensor]:
        """Copy the answer to the last call out of the candidate's memory."""
        got = []
        for want in self.case.expected:
            spec = {
                "t": "tensor",
                "dtype": str(want.dtype).removeprefix("torch."),
                "shape": list(want.shape),
                "stride": list(torch.empty(want.shape, device="meta").stride()),
                "off": offset,
            }
            got.append(tensors.view(self.memory["cand_out"], spec).clone().to(self.problem.device))
            offset = wire.align(offset + want.numel() * want.element_size())
        return got

    def late(self, m: dict[str, Any]) -> dict[str, Any]:
        """Say whether the last call's answer, handed over again, is right by now."""
        if self.judge_.structure(self.case, m["outputs"]):
            return {"right": False}
        return {"right": self.judge_.accept(self.case, self._answer(m["out"]))[0]}

    def _touched(self, case: Case) -> dict[str, Any] | None:
        """Return a witness if the candidate wrote to an input that the reference leaves alone."""
        number = 0

        def check(spec: tensors.Spec) -> dict[str, Any] | None:
            nonlocal number
            if spec["t"] != "tensor":
                found = [check(s) for s in spec.get("items", [])]
                return next((f for f in found if f), None)
            index, number = number, number + 1
            now = tensors.view(self.memory["cand_in"], spec, self.slots_at)
            then = tensors.leaves(case.value)[index]
            if case.mutable[index] or torch.equal(tensors.as_bytes(tensors.dense(now)), tensors.as_bytes(then)):
                return None
            changed = int((tensors.as_bytes(tensors.dense(now)) != tensors.as_bytes(then)).sum())
            return {"input": index, "bytes_changed": changed, "input_shapes": case.shapes, "call": case.number}

        return check(case.spec)

    def kept(self, m: dict[str, Any]) -> dict[str, Any]:
        """Say whether an output that was kept across a call still holds the earlier answer."""
        changed = False
        offset = m["out"]
        for old in self.judge_.history[-2].expected if len(self.judge_.history) > 1 else []:
            size = old.numel() * old.element_size()
            if not size:
                continue
            now = torch.frombuffer(self.memory["cand_out"], dtype=torch.uint8, count=size, offset=offset)
            then = torch.frombuffer(
                self.memory["cand_out"], dtype=torch.uint8, count=size, offset=m["first"] + offset - m["out"]
            )
            changed = changed or not torch.equal(now, then)
            offset = wire.align(offset + size)
        return {"changed": changed}

    def fresh(self, _: dict[str, Any]) -> dict[str, Any]:
        """A new candidate process starts."""
        self.judge_.forget()
        return {}

    def summary(self, _: dict[str, Any]) -> dict[str, Any]:
        """Return what the judge gathered over all calls."""
        j = self.judge_
        return {
            "calls": j.calls,
            "ratio": j.ratio,
            "class": j.klass,
            "would_pass": j.peers,
            "errors": j.table,
            "ties": j.ties,
        }

    def jitter(self, m: dict[str, Any]) -> dict[str, Any]:
        """Return the other shapes and layouts that the reference takes."""
        return {"cases": jitter.cases(self.problem, self.problem.draw(m["seed"]))}

    def mutants(self, _: dict[str, Any]) -> dict[str, Any]:
        """Judge mutants of the reference; see mutants."""
        return mutants.power(self.problem, Judge(self.problem), self.same, self.build, self.folder)

    def reconsider(self, value: Any, got: list[torch.Tensor]) -> bool:
        """Judge one timed answer by all the rules of a judged call; what rounding leaves open is no excuse here."""
        case = self.build("timed", "timed", value)
        flat = [g.reshape(w.shape) for g, w in zip(got, case.expected, strict=True)]
        good, _, klass = self.judge_.accept(case, flat)
        return good and klass == "own"

    def fill(self, m: dict[str, Any]) -> dict[str, Any]:
        """Write one block of timed slots, the same fresh bytes for every side."""
        return batches.fill(self, m)

    def judge_batch(self, m: dict[str, Any]) -> dict[str, Any]:
        """Judge the outputs of a timed block."""
        return batches.judge(self, m)

    def machine(self, m: dict[str, Any]) -> dict[str, Any]:
        """Describe this machine."""
        return machine.describe(m["device"])

    def rate(self, m: dict[str, Any]) -> dict[str, Any]:
        """Measure the device: bytes a second of a copy, or FLOP a second of a product."""
        rate = attribution.bandwidth(m["device"]) if m["name"] == "copy" else floor.matrix(m["device"], m["name"])
        return {"a_second": rate}

    def flops(self, _: dict[str, Any]) -> dict[str, Any]:
        """Count the products of the reference on the recorded draw; 0 where that cannot be done."""
        try:
            args = tensors.rebuild(self.same[0].value, [t.clone() for t in tensors.leaves(self.same[0].value)])
            counted, kind = floor.flops(self.problem.model, tensors.to_device(args, self.problem.device))
        except Exception:  # noqa: BLE001  foreign code raises what it likes
            counted, kind = 0.0, ""
        return {"flops": counted, "class": kind}


def unwritten(got: list[torch.Tensor], poison: int) -> bool:
    """Say whether more than half of a result is the pattern that free memory was filled with."""
    if poison in (0, 0xFF):
        return False
    flat = [t.contiguous().view(-1).view(torch.uint8) for t in got if t.numel()]
    hits = sum(int(((f == poison) | (f == (poison ^ 0xFF))).sum()) for f in flat)
    return hits > 0.5 * sum(f.numel() for f in flat)


OPERATIONS = (
    "load",
    "attach",
    "model",
    "prepare",
    "judge",
    "late",
    "kept",
    "fresh",
    "summary",
    "fill",
    "judge_batch",
    "jitter",
    "mutants",
    "machine",
    "rate",
    "flops",
)


def main(sock_fd: int, files: list[int]) -> None:
    """Answer requests until the socket closes; memory files arrive with them."""
    sock = socket.socket(fileno=sock_fd)
    torch.set_grad_enabled(False)
    oracle = Oracle()
    oracle.files = files
    while True:
        data, fds, _, _ = socket.recv_fds(sock, wire.MAX_PACKET, 8)
        if not data:
            return
        oracle.files = fds or oracle.files
        message = json.loads(data)
        try:
            answer = (
                getattr(oracle, message["op"])(message)
                if message["op"] in OPERATIONS
                else {"error": "unknown operation"}
            )
        except UnjudgeableError as error:
            answer = {"error": str(error), "reason": error.reason}
        except tensors.NotEncodableError as error:
            answer = {"error": f"the reference uses {error}", "reason": "input_type"}
        except Exception as error:  # noqa: BLE001  foreign code raises what it likes
            traceback.print_exc()
            answer = {"error": f"{type(error).__name__}: {error}", "reason": "reference_failed"}
        sock.send(json.dumps(answer).encode())
