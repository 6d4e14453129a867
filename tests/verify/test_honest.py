"""Honest kernels pass, whatever tricks of the trade they use; what cannot be judged says why."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

PROBLEMS = tomllib.loads((Path(__file__).parent / "problems.toml").read_text(encoding="utf-8"))
HEAD = "import torch\nimport torch.nn as nn\n"

HONEST = {
    "workspace_static_output": (
        "relu_add",
        """
class ModelNew(nn.Module):
    def forward(self, x, b):
        if not hasattr(self, "out"):
            self.out = torch.empty_like(x)
        return torch.add(torch.relu(x), b, out=self.out)
""",
    ),
    "split_k": (
        "matmul",
        """
class ModelNew(nn.Module):
    def forward(self, a, b):
        return sum(a[:, k:k + 32] @ b[k:k + 32] for k in range(0, a.shape[1], 32))
""",
    ),
    "pretransposed_weights": (
        "linear_gelu",
        """
class ModelNew(nn.Module):
    def __init__(self, n, m):
        super().__init__()
        self.fc = nn.Linear(n, m)
        self.wt = self.fc.weight.detach().t().contiguous()
    def forward(self, x):
        return torch.nn.functional.gelu(torch.addmm(self.fc.bias, x, self.wt))
""",
    ),
    "diagonal_by_broadcast": (
        "diag",
        """
class ModelNew(nn.Module):
    def forward(self, d, b):
        return d[:, None] * b
""",
    ),
    "online_softmax": (
        "softmax",
        """
class ModelNew(nn.Module):
    def forward(self, x):
        m = torch.full(x.shape[:1], float("-inf"))
        s = torch.zeros(x.shape[0])
        for part in x.split(64, dim=1):
            new = torch.maximum(m, part.amax(1))
            s = s * torch.exp(m - new) + torch.exp(part - new[:, None]).sum(1)
            m = new
        return torch.exp(x - m[:, None]) / s[:, None]
""",
    ),
    "view_like_the_reference": (
        "view",
        """
class ModelNew(nn.Module):
    def forward(self, x):
        return x.view(x.shape[0], -1)
""",
    ),
    "layernorm_by_hand": (
        "layernorm",
        """
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.norm = nn.LayerNorm(n)
    def forward(self, x):
        c = x - x.mean(-1, keepdim=True)
        y = c * torch.rsqrt((c * c).mean(-1, keepdim=True) + self.norm.eps)
        return y * self.norm.weight + self.norm.bias
""",
    ),
    "batchnorm_in_training": (
        "batchnorm",
        """
class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bn = nn.BatchNorm1d(n)
    def forward(self, x):
        return self.bn(x)
""",
    ),
    "column_major_output": (
        "matmul",
        """
class ModelNew(nn.Module):
    def forward(self, a, b):
        return (b.t() @ a.t()).t()
""",
    ),
}

BADGES = {
    "workspace_static_output": "OUTPUT_BUFFER_REUSED",
    "pretransposed_weights": "WEIGHT_PREPACK",
    "batchnorm_in_training": "STATEFUL_REFERENCE",
    "column_major_output": "OUTPUT_NOT_CONTIGUOUS",
}


@pytest.mark.parametrize("name", HONEST)
def test_passes(name: str, verify: Callable[..., dict[str, Any]]) -> None:
    problem, body = HONEST[name]
    doc = verify(HEAD + body, PROBLEMS[problem])
    assert doc["correctness"] == "passed", (doc["verdict"], doc["gate"], doc["witness"])
    assert doc["verdict"].partition(":")[0] not in ("HACK", "SUSPECT", "INCORRECT", "CONFIRMED_REDUCED", "FLAKY")
    assert doc["speedup_lo"] <= doc["speedup"] <= doc["speedup_hi"]
    assert (BADGES.get(name) is None) or BADGES[name] in doc["badges"]
    assert doc["sandbox_ok"]
    assert doc["device"] == "cpu"
    assert doc["gpu_model"] is None


COPY = HEAD + "class ModelNew(nn.Module):\n    def forward(self, a, b):\n        WORK\n        return a @ b\n"


def test_more_work_is_not_faster(verify: Callable[..., dict[str, Any]]) -> None:
    doc = verify(
        COPY.replace("WORK", "[a @ b for _ in range(7)]"), PROBLEMS["matmul"], budget_s=10.0, claimed_speedup=3.0
    )
    assert doc["verdict"] in ("NO_SPEEDUP", "SLOWER_THAN_CLAIMED"), doc["verdict"]
    assert doc["speed"] == "slower"
    assert doc["speedup"] < 0.6
    assert doc["claimed_speedup"] == 3.0
    assert doc["claim_compared"]


def test_a_real_saving_is_confirmed(verify: Callable[..., dict[str, Any]]) -> None:
    # Eight products in the reference, one in the kernel: about eight times less work.
    reference = PROBLEMS["matmul"].replace("return a @ b", "return sum(a @ b for _ in range(8)) / 8")
    doc = verify(COPY.replace("WORK", "pass"), reference, budget_s=10.0)
    assert doc["speed"] == "faster"
    assert doc["verdict"] == "CONFIRMED", (
        doc["verdict"],
        doc["speedup_lo"],
        doc["speedup_hi"],
    )
    assert doc["speedup_lo"] > 2.0


def test_a_claim_for_a_gpu_is_not_compared_on_the_cpu(verify: Callable[..., dict[str, Any]]) -> None:
    doc = verify(
        COPY.replace("WORK", "pass"), PROBLEMS["matmul"], claimed_speedup=9.0, claimed_gpu="NVIDIA H100", run_ids=("r",)
    )
    assert doc["correctness"] == "passed"
    assert not doc["claim_compared"]
    assert doc["verdict"] != "SLOWER_THAN_CLAIMED"


UNJUDGEABLE = {
    "dropout": ("UNVERIFIABLE:stochastic_reference", "reference"),
    "counter": ("UNVERIFIABLE:stateful_reference", "reference"),
    "constant": ("DEGENERATE_PROBLEM", "power"),
}


@pytest.mark.parametrize("problem", UNJUDGEABLE)
def test_what_cannot_be_judged_says_why(problem: str, verify: Callable[..., dict[str, Any]]) -> None:
    body = (
        HEAD + "class ModelNew(nn.Module):\n    def forward(self, x):\n        return torch.softmax(x, -1).mean(-1)\n"
    )
    doc = verify(body, PROBLEMS[problem])
    assert (doc["verdict"], doc["gate"]) == UNJUDGEABLE[problem], doc["witness"]
    assert doc["correctness"] == "unknown"
    assert doc["witness"]
