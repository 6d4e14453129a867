"""References that overflow, and ones whose answers are tiny: neither makes anything right, nor everything wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from kbstats.analytics.verify.runner import errors, hints

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
    "what overflows as the reference does is right": (PARTLY, PARTLY, "passed"),
    "zeros are not": (PARTLY, "torch.zeros_like(x)", "failed"),
    "infinity everywhere is not": (PARTLY, "torch.full_like(x, float('inf'))", "failed"),
    "a wrong finite part is not": (PARTLY, "torch.exp(100.0 * x) * 1.001", "failed"),
    "no number where the reference is infinite is not": (
        PARTLY,
        "torch.where(x > 2.0, torch.nan, torch.exp(100.0 * x))",
        "failed",
    ),
    "where all is infinite nothing can be told": (WHOLLY, WHOLLY, "unknown"),
    "tiny answers are answers": (TINY, TINY, "passed"),
    "zeros are none of them": (TINY, "torch.zeros_like(x)", "failed"),
    "nor of denormal ones": (DENORMAL, "torch.zeros_like(x)", "failed"),
    "which are judged too": (DENORMAL, "(x + 0.5).clamp_min(0.0) * 1e-40", "passed"),
}


@pytest.mark.parametrize("name", CASES)
def test_range(name: str, verify: Callable[..., dict[str, Any]]) -> None:
    asked, given, correctness = CASES[name]
    doc = verify(kernel(given), reference(asked), budget_s=1.0)
    assert doc["correctness"] == correctness, (doc["verdict"], doc["gate"], doc["witness"])
    if correctness == "unknown":
        assert doc["verdict"] == "DEGENERATE_PROBLEM"


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


def test_a_view_of_the_input_and_a_lower_precision_are_no_news_where_the_reference_has_them(
    verify: Callable[..., dict[str, Any]],
) -> None:
    flat = verify(kernel("x.view(-1)"), reference("x.view(-1)"), budget_s=1.0)
    assert flat["correctness"] == "passed"
    assert "OUTPUT_BUFFER_REUSED" not in flat["badges"]
    turned = verify(kernel("(x + 1.0).half().float().t()"), reference("(x.half() + 1.0).float().t()"), budget_s=1.0)
    assert not {"OUTPUT_NOT_CONTIGUOUS", "SUSPECT:precision"} & set(turned["badges"]), turned["badges"]
    # Where only the kernel does it, it is said.
    assert hints.beyond("x.half()", "x + 1", None) == ["precision"]
