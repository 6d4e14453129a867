"""Honest kernels pass, whatever tricks of the trade they use; what cannot be judged says why."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kbstats.analytics.verify.runner import gates

PROBLEMS = tomllib.loads((Path(__file__).parent / "problems.toml").read_text(encoding="utf-8"))
HEAD = "import torch\nimport torch.nn as nn\n"

HONEST = tomllib.loads((Path(__file__).parent / "honest.toml").read_text(encoding="utf-8"))


# A build by torch takes half a minute: `make verify-suite` runs those.
@pytest.mark.parametrize("name", [n for n, c in HONEST.items() if not c.get("slow")])
def test_passes(name: str, verify: Callable[..., dict[str, Any]]) -> None:
    case = HONEST[name]
    doc = verify(case["source"], PROBLEMS[case["problem"]], claimed_speedup=case.get("claim"))
    assert doc["correctness"] == "passed", (doc["verdict"], doc["gate"], doc["witness"])
    assert doc["verdict"].partition(":")[0] not in ("HACK", "SUSPECT", "INCORRECT", "CONFIRMED_REDUCED", "FLAKY")
    assert doc["speedup_lo"] <= doc["speedup"] <= doc["speedup_hi"]
    assert "badge" not in case or case["badge"] in doc["badges"]
    assert doc["verified_calls"] >= gates.MIN_CALLS
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
