"""References that overflow, and ones whose answers are tiny: neither makes anything right, nor everything wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from kbstats.analytics.verify.runner import errors, hints, power
from kbstats.analytics.verify.runner.judge import Judge
from kbstats.analytics.verify.runner.oracle import Oracle
from kbstats.analytics.verify.runner.problem import Problem

HEAD = "import torch\nimport torch.nn as nn\n"
BODY = "    def forward(self, x):\n        return EXPR\n"
INPUTS = "def get_inputs():\n    return [torch.randn(32, 96)]\n"


def reference(expression: str) -> str:
    return f"{HEAD}class Model(nn.Module):\n{BODY.replace('EXPR', expression)}{INPUTS}"


def kernel(expression: str) -> str:
    return f"{HEAD}class ModelNew(nn.Module):\n{BODY.replace('EXPR', expression)}"


# exp(100 z) is beyond 3.4e38 from z = 0.887 on: for 19 % of normal draws.
PARTLY, WHOLLY = "torch.exp(100.0 * x)", "torch.exp(x.abs() + 100.0)"
# 1e-36 is a normal number of fp32, a hundred times its smallest; the second is below it.
TINY, DENORMAL = "torch.relu(x + 0.5) * 1e-36", "torch.relu(x + 0.5) * 1e-40"
CASES = {
    "what overflows as the reference does is right": (PARTLY, "torch.exp(100.0 * x)", True),
    "zeros are not": (PARTLY, "torch.zeros_like(x)", False),
    "infinity everywhere is not": (PARTLY, "torch.full_like(x, torch.inf)", False),
    "a wrong finite part is not": (PARTLY, "torch.exp(100.0 * x) * 1.001", False),
    "no number for one is not": (PARTLY, "torch.where(x > 2.0, torch.nan, torch.exp(100.0 * x))", False),
    "tiny answers are answers": (TINY, "(x + 0.5).clamp_min(0.0) * 1e-36", True),
    "zeros are none of them": (TINY, "torch.zeros_like(x)", False),
    "denormal answers are answers": (DENORMAL, "(x + 0.5).clamp_min(0.0) * 1e-40", True),
    "zeros are none of those": (DENORMAL, "torch.zeros_like(x)", False),
}


def judge_of(expression: str, folder: Path) -> tuple[Judge, list[Any]]:
    """Return the judge of a reference and three prepared draws."""
    oracle = Oracle()
    job = {"device": "cpu", "cast": None, "shims": [], "helpers": {}, "source": reference(expression), "secret": 5}
    oracle.problem = Problem(job, str(folder))
    oracle.problem.construct(42)
    cases = [oracle.build("G2", "nominal", oracle.problem.draw(seed)) for seed in (1, 2, 3)]
    return Judge(oracle.problem), cases


@pytest.mark.parametrize("name", CASES)
def test_range(name: str, tmp_path: Path) -> None:
    asked, given, right = CASES[name]
    with torch.no_grad():
        judge, cases = judge_of(asked, tmp_path)
        assert power.degenerate(judge, cases) is None
        for case in cases:
            good, _, klass = judge.accept(case, [eval(given, {"torch": torch, "x": case.value[0]})])
            assert good == right
            assert not good or klass == "own"


def test_where_all_is_infinite_nothing_can_be_told(tmp_path: Path) -> None:
    with torch.no_grad():
        judge, cases = judge_of(WHOLLY, tmp_path)
        assert power.degenerate(judge, cases) in {"constant", "other_seed"}


def test_places_without_a_number_are_decided_apart() -> None:
    inf, nan = float("inf"), float("nan")
    expected = torch.tensor([1.0, 2.0, inf, nan])
    truth = torch.tensor([1.0, 2.0, 4e38, 8.0], dtype=torch.float64)

    def frobenius(*got: float) -> float:
        return errors.measure_beside(torch.tensor(got), expected, truth).frobenius

    # What the reference gives, or the truth, or the truth as fp32 holds it.
    assert frobenius(1.0, 2.0, inf, nan) == frobenius(1.0, 2.0, inf, 8.0) == 0.0
    # |d| / |t| over the two finite places: 0.1 / sqrt(5), whatever stands in the others.
    assert frobenius(1.1, 2.0, inf, nan) == pytest.approx(0.1 / 5**0.5, rel=1e-6)
    assert frobenius(1.0, 2.0, -inf, nan) == frobenius(1.0, 2.0, inf, 7.9) == frobenius(1.0, 2.0, nan, 8.0) == inf


def test_what_the_reference_does_itself_is_no_badge(verify: Callable[..., dict[str, Any]]) -> None:
    # A view of the input, of a lower precision, with strides of its own; and its timed answers overflow.
    expression = "torch.exp(100.0 * x).half().float().view(-1)[::2]"
    doc = verify(kernel(expression), reference(expression))
    assert doc["correctness"] == "passed", (doc["verdict"], doc["gate"], doc["witness"])
    assert not {"OUTPUT_NOT_CONTIGUOUS", "OUTPUT_BUFFER_REUSED", "SUSPECT:precision"} & set(doc["badges"])
    flat = verify(kernel("x.view(-1)"), reference("x.view(-1)"))
    assert "OUTPUT_BUFFER_REUSED" not in flat["badges"]
    assert hints.beyond("x.half()", "x + 1", None) == ["precision"]
    assert hints.beyond("x.half()", "x + 1", "float16") == []
