"""Mutants of the reference: how many wrong kernels does the judge of this problem catch?

Each mutant is the reference with one place of its `forward` changed. It is judged like a candidate's
answers. The share that is refused is the judge's power for this problem; a mutant that computes the
same bytes is no mutant, and one that raises would be refused by any judge, so neither counts.
"""

from __future__ import annotations

import ast
import copy
import time
from typing import TYPE_CHECKING, Any

import torch

from . import inputs, namespace, tensors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .judge import Case, Judge
    from .problem import Problem

MAX_MUTANTS = 40

BENDS = ("integers", "heavy_tail", "last_spike", "scaled_up")
"""Cases of the sweep that a mutant has to pass beside two nominal draws."""

BUDGET_S = 2.0

SWAPS: dict[type, type] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult}
IDENTITY = {"relu", "gelu", "sigmoid", "tanh", "softmax", "log_softmax", "exp", "silu", "abs", "sqrt", "contiguous"}
OTHER = {
    "mean": "sum", "sum": "mean", "max": "min", "amax": "amin", "min": "max", "relu": "gelu", "gelu": "relu",
    "sigmoid": "tanh", "tanh": "sigmoid", "rsqrt": "sqrt", "exp": "expm1", "softmax": "log_softmax",
}  # fmt: skip


class _Change(ast.NodeTransformer):
    """Applies change number `wanted`, in the order in which places are met; counts them all."""

    def __init__(self, wanted: int) -> None:
        self.wanted, self.seen, self.label = wanted, 0, ""

    def _mine(self, label: str) -> bool:
        self.seen += 1
        if self.seen - 1 == self.wanted:
            self.label = label
            return True
        return False

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Swap an operator, or leave out its right side."""
        self.generic_visit(node)
        other = SWAPS.get(type(node.op))
        if other and self._mine(f"line {node.lineno}: another operator"):
            return ast.copy_location(ast.BinOp(node.left, other(), node.right), node)
        if other and self._mine(f"line {node.lineno}: right operand left out"):
            return node.left
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Leave a function out, or call its neighbour."""
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        args = node.args or ([node.func.value] if isinstance(node.func, ast.Attribute) else [])
        if name in IDENTITY and args and self._mine(f"line {node.lineno}: {name} left out"):
            return args[0]
        if name in OTHER and self._mine(f"line {node.lineno}: {OTHER[name]} for {name}"):
            func = ast.Attribute(node.func.value, OTHER[name], ast.Load())  # type: ignore[attr-defined]
            keep = [k for k in node.keywords if k.arg != "approximate"]
            return ast.copy_location(ast.Call(func, node.args, keep), node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        """Move a floating constant by one part in a hundred."""
        if isinstance(node.value, float) and node.value and self._mine(f"line {node.lineno}: constant off by 1 %"):
            return ast.copy_location(ast.Constant(node.value * 1.01), node)
        return node


def of_source(source: str) -> Iterator[tuple[str, str]]:
    """Yield (what was changed, source) for every change of `Model.forward`."""
    tree = ast.parse(source)
    forwards = [
        f
        for c in tree.body
        if isinstance(c, ast.ClassDef) and c.name == "Model"
        for f in c.body
        if isinstance(f, ast.FunctionDef) and f.name == "forward"
    ]
    if not forwards:
        return
    counter = _Change(-1)
    counter.visit(copy.deepcopy(forwards[0]))
    for number in range(min(counter.seen, MAX_MUTANTS)):
        other = copy.deepcopy(tree)
        change = _Change(number)
        for c in other.body:
            if isinstance(c, ast.ClassDef) and c.name == "Model":
                c.body = [
                    change.visit(f) if isinstance(f, ast.FunctionDef) and f.name == "forward" else f for f in c.body
                ]
        yield change.label, ast.unparse(ast.fix_missing_locations(other))


def _on_values(problem: Problem) -> Iterator[tuple[str, Any]]:
    """Yield mutants that source text cannot name: typical bugs, as functions of the inputs."""

    def outputs(change: Any) -> Any:
        return lambda value: [change(t) if t.is_floating_point() else t for t in problem.run(value)]

    def given(change: Any) -> Any:
        def run(value: Any) -> list[torch.Tensor]:
            moved = [change(t.clone()) if t.is_floating_point() and t.dim() else t for t in tensors.leaves(value)]
            return problem.run(tensors.rebuild(value, moved))

        return run

    def last(dim: int, value: float = 0.0) -> Any:
        def change(t: torch.Tensor) -> torch.Tensor:
            t = t.clone()
            if t.dim():
                t.narrow(dim if t.dim() > 1 else 0, -1 % t.shape[dim if t.dim() > 1 else 0], 1).fill_(value)
            return t

        return change

    yield "last row of the result not written", outputs(last(0))
    yield "last column of the result not written", outputs(last(-1))
    yield "result rounded to bf16", outputs(lambda t: t.bfloat16().to(t.dtype))
    yield "result off by one part in ten thousand", outputs(lambda t: t * 1.0001)
    yield "result moved by one row", outputs(lambda t: t.roll(1, 0) if t.dim() else t)
    yield "inputs rounded to bf16", given(lambda t: t.bfloat16().to(t.dtype))
    yield "last column of the inputs left out", given(last(-1))
    yield "last row of the inputs left out", given(last(0))
    for name, parameter in list(problem.model.named_parameters())[:8]:

        def without(value: Any, parameter: torch.nn.Parameter = parameter) -> list[torch.Tensor]:
            kept = parameter.detach().clone()
            parameter.data.zero_()
            try:
                return problem.run(value)
            finally:
                parameter.data.copy_(kept)

        yield f"parameter {name} left out", without


def power(problem: Problem, judge: Judge, cases: list[Case], build: Any, folder: str) -> dict[str, Any]:
    """Judge all mutants.

    Args:
        problem: the reference.
        judge: its judge.
        cases: two or more nominal cases.
        build: makes a case of bent inputs (gate, label, value).
        folder: where mutants' sources are written.

    Returns:
        `mutants`, `rejected` and up to eight `survivors`.
    """
    end = time.monotonic() + BUDGET_S
    generator = torch.Generator().manual_seed(problem.rng.getrandbits(60))
    every = list(cases[:2])
    for bend in BENDS:
        value = inputs.bend(tensors.to_device(cases[0].value, "cpu"), bend, problem.rng, generator)
        case = build("G3", bend, value)
        if all(bool(torch.isfinite(t).all()) for t in [*case.truth, *case.expected]):
            every.append(case)
    count, rejected = 0, 0
    survivors: list[str] = []
    for label, run in _all(problem, folder):
        if time.monotonic() > end:
            break
        try:
            answers = [run(case.value) for case in every]
            same = all(
                torch.equal(torch.nan_to_num(a), torch.nan_to_num(e))
                for got, case in zip(answers, every, strict=True)
                for a, e in zip(got, case.expected, strict=True)
            )
            if same:
                continue
            # A judge that cannot compare (another shape, another type) refuses at G1.
            passed = all(_accepted(judge, case, got) for got, case in zip(answers, every, strict=True))
        except Exception:  # noqa: BLE001, S112  foreign code raises what it likes
            continue
        count += 1
        rejected += not passed
        if passed and len(survivors) < 8:
            survivors.append(label)
    return {"mutants": count, "rejected": rejected, "survivors": survivors}


def _accepted(judge: Judge, case: Case, got: list[torch.Tensor]) -> bool:
    alike = [(t.shape, t.dtype) for t in got] == [(t.shape, t.dtype) for t in case.expected]
    if not alike:
        return False
    good, _, klass = judge.accept(case, got)
    return good and klass == "own"


def _all(problem: Problem, folder: str) -> Iterator[tuple[str, Any]]:
    yield from _on_values(problem)
    try:
        sources = list(of_source(problem.source))
    except (SyntaxError, ValueError):
        return
    for number, (label, source) in enumerate(sources):
        try:
            module = namespace.load(source, f"{folder}/mutants/mutant_{number}.py", problem.names)
            model = module.Model(**problem.init) if isinstance(problem.init, dict) else module.Model(*problem.init)
            model = model.to(problem.device) if problem.cast is None else model.to(problem.device, problem.cast)
            model.load_state_dict(problem.model.state_dict())
        except Exception:  # noqa: BLE001, S112  foreign code raises what it likes
            continue
        yield label, lambda value, model=model: problem.run(value, model)
