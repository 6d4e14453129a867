"""How much work a reference's products are, counted on paper; and what a time below it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from kbstats.analytics.verify.runner import attribution, floor

A, B = torch.rand(8, 16) + 0.1, torch.rand(16, 4) + 0.1


@pytest.mark.parametrize(
    ("model", "flops"),
    [
        (lambda a, b: a @ b, 2 * 8 * 16 * 4),
        # Done three times on the same values, it need be done once.
        (lambda a, b: a @ b + a @ b + a @ b, 2 * 8 * 16 * 4),
        (lambda a, b: (2 * a) @ b + a @ b, 2 * 2 * 8 * 16 * 4),
        # A diagonal matrix of 16 rows holds a sixteenth of its places.
        (lambda a, b: torch.diag(a[0]) @ b, 2 * 16 * 16 * 4 / 16),
        (lambda a, b: a.sum() + b.sum(), 0),
    ],
)
def test_flops(model: Callable[..., Any], flops: float) -> None:
    assert floor.flops(model, [A, B]) == (pytest.approx(flops), "fp32" if flops else "")
    assert floor.flops(model, [A.double(), B.double()])[1] == ("fp64" if flops else "")


def test_a_convolution_counts_by_its_fewest_multiplications() -> None:
    x, w = torch.rand(1, 2, 10, 10) + 0.1, torch.rand(3, 2, 3, 3) + 0.1
    # 64 places, 3 outputs, 18 multiplications and additions each.
    assert floor.flops(torch.nn.functional.conv2d, [x, w])[0] == pytest.approx(2 * 64 * 3 * 18 / 2.25)


def test_rates_are_those_of_a_machine() -> None:
    rate = floor.matrix("cpu", "fp32")
    assert 1e8 < rate < 1e14
    assert floor.matrix("cpu", "fp64") < 2 * rate
    assert 1e8 < attribution.bandwidth("cpu") < 1e13


def test_a_document_says_what_its_products_take(verify: Callable[..., dict[str, Any]]) -> None:
    head = "import torch\nimport torch.nn as nn\n"
    body = "    def forward(self, a, b):\n        return a @ b\n"
    inputs = "def get_inputs():\n    return [torch.randn(96, 96), torch.randn(96, 96)]\n"
    doc = verify(f"{head}class ModelNew(nn.Module):\n{body}", f"{head}class Model(nn.Module):\n{body}{inputs}")
    found = next(c["detail"] for c in doc["checks"] if c["gate"] == "floor")
    assert found["flops"] == pytest.approx(2 * 96**3)
    assert found["floor_products_us"] == pytest.approx(found["flops"] / found["matrix_gflop_s"] / 1e3)
    assert found["floor_products_us"] < 1.25 * found["busy_us"]
    assert "NEEDS_REVIEW" not in doc["badges"]
