"""The reference on the trusted side: its models, its truth, and whether it can be judged at all."""

from __future__ import annotations

import copy
import random
import time
from dataclasses import dataclass
from typing import Any

import torch

from . import errors, inputs, namespace, tensors

SERIAL_S = 2e-3
"""Below this a call on the CPU runs on one thread, on all sides: OpenMP's fork and join cost more than
they bring there, and any other process on the machine makes them random."""


class UnjudgeableError(Exception):
    """The reference cannot serve as one; `reason` ends up behind UNVERIFIABLE."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Form:
    """What the reference's output looks like: a candidate's has to look like it."""

    dtype: str
    shape: list[int]
    expanded: bool
    contiguous: bool


def expanded(tensor: torch.Tensor) -> bool:
    """Say whether several places of a tensor are one place in memory (stride 0)."""
    return any(stride == 0 and size > 1 for stride, size in zip(tensor.stride(), tensor.shape, strict=True))


class Problem:
    """One loaded reference."""

    def __init__(self, job: dict[str, Any], folder: str) -> None:
        self.device: str = job["device"]
        self.cast = getattr(torch, job["cast"]) if job.get("cast") else None
        self.source: str = job["source"]
        self.names = namespace.install_shims(job["shims"], self.device)
        namespace.write_helpers(job["helpers"], f"{folder}/helpers")
        module = namespace.load(self.source, f"{folder}/src/reference.py", self.names)
        try:
            self.make, self.get_inputs = module.Model, module.get_inputs
        except AttributeError as error:
            raise UnjudgeableError("bad_reference", f"the reference lacks {error.name}") from error
        self.get_init = getattr(module, "get_init_inputs", list)
        self.rng = random.Random(job["secret"])  # noqa: S311  the seed is the secret
        # Set by construct(), which every request comes after.
        self.model: torch.nn.Module
        self.exact: torch.nn.Module
        self.init: Any = None
        self.stateful = False
        self.truth_dtype = "float64"
        self.forms: list[Form] = []
        """Of the outputs of the last run."""

    # ------------------------------------------------------------------ models
    def construct(self, seed: int) -> torch.nn.Module:
        """Build the reference under a seed and its fp64 copy; returns the model on the device."""
        tensors.seed_all(seed)
        self.init = self.get_init()
        tensors.seed_all(seed)
        model = self.make(**self.init) if isinstance(self.init, dict) else self.make(*self.init)
        self.model = model.to(self.device) if self.cast is None else model.to(self.device, self.cast)
        self.refresh()
        return self.model

    def refresh(self) -> None:
        """Make the fp64 copy anew after the model's parameters changed."""
        exact = copy.deepcopy(self.model).double()
        for part in exact.modules():
            for key, value in vars(part).items():
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    object.__setattr__(part, key, value.double())
        for held in (*exact.parameters(), *exact.buffers()):
            held.data = widened(held.data)
        self.exact = exact

    def perturb(self, generator: torch.Generator) -> None:
        """Move every floating parameter by up to 25 %, and constant ones (a LayerNorm's) off their constant."""
        for parameter in self.model.parameters():
            if parameter.is_floating_point() and parameter.numel():
                noise = torch.rand(parameter.shape, generator=generator).to(parameter.device)
                scale = float(parameter.abs().mean()) or 1.0
                parameter.data.copy_(parameter * (0.75 + 0.5 * noise) + 0.1 * scale * (noise - 0.5))
        self.refresh()

    # ------------------------------------------------------------------ inputs
    def draw(self, seed: int) -> Any:
        """Return the inputs drawn under a seed, floating ones cast to the claim's precision."""
        tensors.seed_all(seed)
        value = self.get_inputs()
        value = list(value) if isinstance(value, (list, tuple)) else value
        if self.cast is not None:
            value = tensors.rebuild(
                value, [t.to(self.cast) if t.is_floating_point() else t for t in tensors.leaves(value)]
            )
        return value

    def discover(self) -> tuple[dict[tuple, list[int]], int]:
        """Draw until the shapes are known; returns shapes -> seeds, and the number of draws."""
        found: dict[tuple, list[int]] = {}
        start, count = time.monotonic(), 0
        while count < inputs.DRAWS and (count < inputs.MIN_DRAWS or time.monotonic() - start < inputs.DRAW_BUDGET_S):
            seed = self.rng.getrandbits(62)
            found.setdefault(inputs.shapes_of(self.draw(seed)), []).append(seed)
            count += 1
        return found, count

    # ------------------------------------------------------------------ running
    def run(self, value: Any, model: torch.nn.Module | None = None) -> list[torch.Tensor]:
        """Run a model on a copy of the inputs and return its outputs, on the device of the run."""
        args = tensors.to_device(tensors.rebuild(value, [t.clone() for t in tensors.leaves(value)]), self.device)
        out = (self.model if model is None else model)(*args)
        raw = [t for t in tensors.parts(out, self.device) if isinstance(t, torch.Tensor)]
        self.forms = [
            Form(str(t.dtype).removeprefix("torch."), list(t.shape), expanded(t), t.is_contiguous()) for t in raw
        ]
        return [tensors.real(t.detach()).clone() for t in raw]

    def choose_threads(self, value: Any) -> int | None:
        """Return 1 if a call on the CPU is short on one thread, None for torch's own choice, and set it here.

        Measured on one thread, as the least of a few calls: on two, OpenMP's barriers read whatever
        else the machine does.
        """
        if self.device != "cpu":
            return None
        usual = torch.get_num_threads()
        torch.set_num_threads(1)
        best = float("inf")
        for _ in range(4):
            start = time.perf_counter()
            self.run(value)
            best = min(best, time.perf_counter() - start)
        if best < SERIAL_S:
            return 1
        torch.set_num_threads(usual)
        return None

    def mutates(self, value: Any) -> list[bool]:
        """Say for each input tensor whether the reference writes to it."""
        args = tensors.to_device(tensors.rebuild(value, [t.clone() for t in tensors.leaves(value)]), self.device)
        before = [t.clone() for t in tensors.leaves(args)]
        self.model(*args)
        return [not torch.equal(a, b) for a, b in zip(before, tensors.leaves(args), strict=True)]

    def reuses(self, value: Any, other: Any) -> bool:
        """Say whether an answer changes when the same tensors are filled anew and called on again.

        It does where the reference returns a view of its inputs, or a buffer of its own.
        """
        args = tensors.to_device(tensors.rebuild(value, [t.clone() for t in tensors.leaves(value)]), self.device)
        first = [t for t in tensors.parts(self.model(*args), self.device) if isinstance(t, torch.Tensor)]
        held = [t.clone() for t in first]
        for there, new in zip(tensors.leaves(args), tensors.leaves(other), strict=True):
            there.copy_(new)
        self.model(*args)
        return not _same(first, held)

    def truth(self, value: Any) -> list[torch.Tensor]:
        """Return the outputs in fp64; where the reference has no fp64 path, its own, and say so."""
        if self.truth_dtype != "float64":
            return self.run(value)
        return self.run_wide(value, self.exact)

    def run_wide(self, value: Any, model: torch.nn.Module) -> list[torch.Tensor]:
        """Run a model of fp64 parameters on inputs made fp64 (complex ones of twice that)."""
        wide = tensors.rebuild(value, [widened(t) for t in tensors.leaves(value)])
        torch.set_default_dtype(torch.float64)
        try:
            return self.run(wide, model)
        finally:
            torch.set_default_dtype(torch.float32)

    def check(self, value: Any) -> None:
        """Find out whether the same call gives the same answer, and whether fp64 works.

        Raises:
            UnjudgeableError: for a stochastic or stateful reference.
        """
        state = copy.deepcopy(self.model.state_dict())
        first, second = self.run(value), self.run(value)
        changed = any(
            not torch.equal(a, b) for a, b in zip(state.values(), self.model.state_dict().values(), strict=True)
        )
        self.stateful = changed
        if not _same(first, second):
            same_state, same_seed = self._reruns(value, state)
            # Atomics on a GPU differ in the last bits from call to call: that is neither.
            if not all(
                errors.measure(x, y).frobenius < 1e-4
                for x, y in zip(first, second, strict=True)
                if x.is_floating_point()
            ):
                # What only the seed explains is chance; what its own buffers explain, or nothing
                # that can be put back, is memory.
                kind = "stochastic_reference" if same_seed and not same_state else "stateful_reference"
                raise UnjudgeableError(
                    kind, "the reference gives another answer each time it is called on the same inputs"
                )
        self.model.load_state_dict(state)
        self.refresh()
        try:
            wide = self.truth(value)
            good = all(t.dtype in (torch.float64, torch.complex128) or not t.is_floating_point() for t in wide)
        except Exception:  # noqa: BLE001  foreign code raises what it likes
            good = False
        if not good:
            self.truth_dtype = "own"
        self.refresh()

    def _reruns(self, value: Any, state: dict[str, Any]) -> tuple[bool, bool]:
        """Whether the answer repeats once the state is put back: under another seed, under the same."""
        answers = []
        for seed in (1, 2, 1):
            self.model.load_state_dict(state)
            tensors.seed_all(seed)
            answers.append(self.run(value))
        return _same(answers[0], answers[1]), _same(answers[0], answers[2])

    def emulate(self, value: Any, name: str) -> list[torch.Tensor]:
        """Run the reference with inputs and parameters rounded to a lower class; 16-bit ones all the way."""
        model = copy.deepcopy(self.model)
        for parameter in [*model.parameters(), *model.buffers()]:
            parameter.data.copy_(errors.rounded(parameter.data, name))
        low = tensors.rebuild(value, [errors.rounded(t, name) for t in tensors.leaves(value)])
        if name == "tf32":
            return self.run(low, model)
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}[name]
        low = tensors.rebuild(low, [t.to(dtype) if t.is_floating_point() else t for t in tensors.leaves(low)])
        return self.run(low, model.to(dtype))


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor in fp64, or complex of twice that; integers as they are."""
    return (
        tensor.to(torch.complex128)
        if tensor.is_complex()
        else tensor.double()
        if tensor.is_floating_point()
        else tensor
    )


def _same(a: list[torch.Tensor], b: list[torch.Tensor]) -> bool:
    return len(a) == len(b) and all(
        x.shape == y.shape and torch.equal(torch.nan_to_num(x), torch.nan_to_num(y)) for x, y in zip(a, b, strict=True)
    )
