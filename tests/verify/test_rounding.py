"""Ties, thresholds and sums that cancel: what rounding decides is nobody's mistake, and nothing else passes by it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from kbstats.analytics.verify.runner import inputs, tensors
from kbstats.analytics.verify.runner.judge import Case, Judge
from kbstats.analytics.verify.runner.oracle import Oracle
from kbstats.analytics.verify.runner.problem import Problem

HEAD = "import torch\nimport torch.nn as nn\n"
Kernel = Callable[..., Any]


def reference(forward: str, args: str, given: str) -> str:
    return (
        f"{HEAD}class Model(nn.Module):\n    def forward(self, {args}):\n        return {forward}\n"
        f"def get_inputs():\n    return [{given}]\ndef get_init_inputs():\n    return []\n"
    )


def oracle_of(source: str, folder: Path) -> Oracle:
    with torch.no_grad():
        oracle = Oracle()
        job = {"device": "cpu", "cast": None, "shims": [], "helpers": {}, "source": source, "secret": 5}
        oracle.problem = Problem(job, str(folder))
        oracle.problem.construct(42)
        oracle.judge_ = Judge(oracle.problem)
        return oracle


def judged(
    oracle: Oracle, kernel: Kernel, *, bend: str | None = None, gate: str = "G2", seed: int = 3
) -> dict[str, Any]:
    with torch.no_grad():
        value = oracle.problem.draw(seed)
        if bend:
            value = inputs.bend(value, bend, random.Random(1), torch.Generator().manual_seed(1))
        case: Case = oracle.build(gate, bend or "nominal", value)
        got = tensors.answers(kernel(*value), "cpu")
        return oracle.judge_.judge(case, got, repeat=False)


def last_argmax(x: torch.Tensor) -> torch.Tensor:
    return x.shape[-1] - 1 - x.flip(-1).argmax(-1)


def sorted_backwards(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, index = torch.sort(x.flip(-1), dim=-1, stable=True)
    return values, x.shape[-1] - 1 - index


def second_best(x: torch.Tensor) -> torch.Tensor:
    index = x.argmax(-1)
    index[5] = x[5].argsort(descending=True)[(x[5] == x[5].max()).sum()]
    return index


def one_place_twice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, index = sorted_backwards(x)
    same = (values[7].diff() == 0).nonzero()[0, 0]
    index[7, same] = index[7, same + 1]
    return values, index


WHOLE = "torch.randint(0, 9, (64, 80)).float()"
NORMAL = "torch.randn(64, 80)"
TIES: dict[str, tuple[str, str, Kernel]] = {
    "argmax": ("torch.argmax(x, -1)", WHOLE, last_argmax),
    "argmax kept": ("torch.argmax(x, -1, keepdim=True)", WHOLE, lambda x: last_argmax(x)[:, None]),
    "argmax of everything": ("torch.argmax(x)", WHOLE, lambda x: last_argmax(x.reshape(-1))),
    "argmin of columns": ("x.argmin(0)", WHOLE, lambda x: last_argmax(-x.t())),
    "max": ("torch.max(x, -1)", WHOLE, lambda x: (x.amax(-1), last_argmax(x))),
    "sort": ("torch.sort(x, -1)", WHOLE, sorted_backwards),
    "argsort": ("torch.argsort(x, -1)", WHOLE, lambda x: sorted_backwards(x)[1]),
    "topk": ("torch.topk(x, 6, -1)", WHOLE, lambda x: tuple(t[:, :6] for t in x.sort(-1, descending=True))),
    "int32 indices": ("torch.argmax(x, -1).int()", WHOLE, lambda x: last_argmax(x).int()),
    "near ties": (
        "torch.argmax(torch.round(x) + 1e-8 * torch.sin(1e3 * x), -1)",
        NORMAL,
        lambda x: last_argmax(torch.round(x)),
    ),
}
WRONG: dict[str, tuple[str, str, Kernel]] = {
    "a lesser value": ("torch.argmax(x, -1)", WHOLE, second_best),
    "out of range": ("torch.argmax(x, -1)", WHOLE, lambda x: x.argmax(-1) + 80),
    "negative": ("torch.argmax(x, -1)", WHOLE, lambda x: x.argmax(-1) - 80),
    "one place twice": ("torch.sort(x, -1)", WHOLE, one_place_twice),
    "a stable sort that is not": ("torch.sort(x, dim=-1, stable=True)", WHOLE, sorted_backwards),
    "zeros": ("torch.argmax(x, -1)", NORMAL, lambda x: torch.zeros(64, dtype=torch.int64)),
    "half a threshold": ("x > 0", NORMAL, lambda x: x > 0.01),
    "a class of labels": ("(x > 0).long()", NORMAL, lambda x: (x > -0.01).long()),
}


@pytest.mark.parametrize("name", TIES)
def test_ties_may_be_broken_otherwise(name: str, tmp_path: Path) -> None:
    forward, given, kernel = TIES[name]
    oracle = oracle_of(reference(forward, "x", given), tmp_path)
    found = judged(oracle, kernel)
    assert found["ok"], found
    assert oracle.judge_.ties


@pytest.mark.parametrize("name", WRONG)
def test_what_no_rounding_gives_is_refused(name: str, tmp_path: Path) -> None:
    forward, given, kernel = WRONG[name]
    oracle = oracle_of(reference(forward, "x", given), tmp_path)
    found = judged(oracle, kernel)
    assert not found["ok"]
    assert not found.get("hangs"), found


def test_a_threshold_at_the_rounding_of_a_sum_is_no_mistake(tmp_path: Path) -> None:
    # Row sums of 80 numbers that cancel to about 1e-7: their signs hang on the order of summation.
    given = "torch.cat([x := torch.randn(64, 40), -x.flip(-1) * (1 + 1e-7 * torch.randn(64, 40))], -1)"
    oracle = oracle_of(reference("x.sum(-1) > 0", "x", given), tmp_path)
    kernel = lambda x: sum(x[:, i] for i in range(80)) > 0  # noqa: E731  a kernel in one line
    value = oracle.problem.draw(3)[0]
    assert not torch.equal(kernel(value), value.sum(-1) > 0)
    found = judged(oracle, kernel)
    assert found["ok"] or found["hangs"]
    wrong = judged(oracle, lambda x: torch.ones(64, dtype=torch.bool))
    assert not wrong["ok"] or found["hangs"]


def test_a_sum_that_cancels_is_held_to_what_rounding_leaves_of_it(tmp_path: Path) -> None:
    oracle = oracle_of(reference("(a @ b).mean()", "a, b", "torch.randn(64, 256), torch.randn(256, 48)"), tmp_path)
    for seed in range(40):
        # 200,000 products add up to a few: the shorter way round is another order of summation.
        assert judged(oracle, lambda a, b: a.mean(0) @ b.mean(1), seed=seed)["class"] == "own"
    assert oracle.judge_.klass == "own"
    low = judged(oracle, lambda a, b: (a.bfloat16().float() @ b.bfloat16().float()).mean())
    assert low["class"] != "own"
    assert judged(oracle, lambda a, b: (a[:, 1:] @ b[1:]).mean())["class"] != "own"


def test_one_over_n_is_fp32(tmp_path: Path) -> None:
    oracle = oracle_of(reference("(a @ b) / 100", "a, b", "torch.randn(64, 256), torch.randn(256, 48)"), tmp_path)
    for seed in range(20):
        found = judged(oracle, lambda a, b: (a * (1 / 100)) @ b, seed=seed)
        assert (found["ok"], found["class"]) == (True, "own")
    off = judged(oracle, lambda a, b: (a @ b) * (0.01 * 1.00001))
    assert off["class"] != "own"


def test_a_sweep_that_makes_ties_asks_nothing(tmp_path: Path) -> None:
    route = "torch.gather(x, 1, torch.topk(x @ w, 1, -1).indices)"
    oracle = oracle_of(reference(route, "x, w", "torch.randn(64, 32), torch.randn(32, 8)"), tmp_path)
    kernel = lambda x, w: torch.gather(x, 1, last_argmax(x @ w)[:, None])  # noqa: E731  a kernel in one line
    assert judged(oracle, kernel)["ok"]
    assert judged(oracle, kernel, bend="integers", gate="G3")["ok"]
    # On drawn inputs the choice is the problem's own, and a wrong one is wrong.
    wrong = judged(oracle, lambda x, w: torch.gather(x, 1, (x @ w).argmin(-1)[:, None]))
    assert not wrong["ok"]
    assert not wrong.get("hangs")


@pytest.mark.parametrize(
    ("forward", "given", "kernel"),
    [
        ("x.conj()", "torch.randn(8, 16, dtype=torch.complex64)", lambda x: x.conj().resolve_conj()),
        ("torch.fft.fft(x)", "torch.randn(8, 64)", lambda x: torch.fft.fft(x.double()).to(torch.complex64)),
        ("(x.sum().item(), None, {'a': [x, (x + 1,)]})", NORMAL, lambda x: [float(x.sum()), x, x + 1]),
    ],
)
def test_complex_numbers_and_nests_are_judged(forward: str, given: str, kernel: Kernel, tmp_path: Path) -> None:
    oracle = oracle_of(reference(forward, "x", given), tmp_path)
    assert judged(oracle, kernel)["ok"]
    off = judged(oracle, lambda x: [t * 1.001 for t in tensors.parts(kernel(x), "cpu")])
    assert not off["ok"] or off["class"] != "own"
    assert off["witness"] if not off["ok"] else True


def test_a_timed_answer_is_excused_by_what_the_reference_gives_alone(tmp_path: Path) -> None:
    oracle = oracle_of(reference("torch.argmax(x, -1)", "x", WHOLE), tmp_path)
    with torch.no_grad():
        value = oracle.problem.draw(3)
        assert oracle.reconsider(value, [last_argmax(*value)])
        assert not oracle.reconsider(value, [second_best(*value)])
    # Routing hangs on the ties: open in a judged call, no excuse in a timed one.
    route = reference("torch.gather(x, 1, torch.argmax(w, -1)[:, None])", "x, w", f"{NORMAL}, {WHOLE}")
    oracle = oracle_of(route, tmp_path / "b")
    with torch.no_grad():
        value = oracle.problem.draw(3)
        assert not oracle.reconsider(value, [torch.zeros(64, 1)])


KERNEL = f"{HEAD}class ModelNew(nn.Module):\n    def forward(self, x):\n        return "
WHOLE_RUNS: dict[str, tuple[str, str, str, str | None]] = {
    "equal values ordered otherwise": (
        "torch.sort(x, -1)",
        WHOLE,
        "(lambda s: (s.values, x.shape[-1] - 1 - s.indices))(torch.sort(x.flip(-1), dim=-1, stable=True))",
        "TIES_BROKEN_OTHERWISE",
    ),
    "a view that is conjugated when it is read": (
        "x.conj() * 1",
        "torch.randn(16, 64, dtype=torch.complex64)",
        "x.conj()",
        None,
    ),
    "a nest with a number": ("{'a': x + 1, 'b': [x.sum().item(), None]}", NORMAL, "(x + 1, (float(x.sum()),))", None),
}


@pytest.mark.parametrize("name", WHOLE_RUNS)
def test_from_source_to_verdict(name: str, verify: Callable[..., dict[str, Any]]) -> None:
    forward, given, kernel, badge = WHOLE_RUNS[name]
    doc = verify(f"{KERNEL}{kernel}\n", reference(forward, "x", given))
    assert doc["correctness"] == "passed", (doc["verdict"], doc["gate"], doc["witness"])
    assert badge is None or badge in doc["badges"]
