"""The sample problems before the verifier, on the CPU: judged, or refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from kbstats.analytics.verify import shims
from kbstats.analytics.verify.runner.items import Item, source_sha256
from kbstats.analytics.verify.runner.session import NoVerdictError, Session

PROBLEMS = Path(__file__).parents[2] / "data" / "problems"

HEAD = "import torch\nimport torch.nn as nn\n\n\nclass ModelNew(nn.Module):\n"
NOISE = HEAD + (
    "    def forward(self, x, logits):\n"
    "        return x * torch.sigmoid(logits + 0.1 * torch.randn_like(logits))\n"
)
CENTRE = HEAD + (
    "    def __init__(self, width):\n"
    "        super().__init__()\n"
    "        self.register_buffer('centre', torch.zeros(width))\n"
    "    def forward(self, x):\n"
    "        self.centre = torch.lerp(self.centre, x.mean(dim=0), 0.1)\n"
    "        return (x - self.centre).clamp_min(0)\n"
)
MASS = HEAD + "    def forward(self, logits):\n        return torch.softmax(logits, -1).sum(-1) > 0.5\n"
ONE_BY_ONE = HEAD + (
    "    def __init__(self, k):\n"
    "        super().__init__()\n"
    "        self.k = k\n"
    "    def forward(self, x):\n"
    "        best = []\n"
    "        for _ in range(self.k):\n"
    "            value, at = x.max(dim=-1, keepdim=True)\n"
    "            best.append(value)\n"
    "            x = x.scatter(1, at, float('-inf'))\n"
    "        return torch.cat(best, dim=-1)\n"
)
BY_VALUE = ONE_BY_ONE.replace("x.scatter(1, at, float('-inf'))", "x.masked_fill(x == value, float('-inf'))")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    try:
        with Session("cpu", budget_s=1.0) as opened:
            yield opened
    except NoVerdictError as e:
        pytest.skip(str(e))


def verdict(session: Session, kernel: str, problem: str, n: int) -> dict[str, Any]:
    """What a verification says of an honest kernel for a problem of size `n`."""
    text = (PROBLEMS / problem).read_text(encoding="utf-8")
    reference = re.sub(r"^N = \d+$", f"N = {n}", text, flags=re.MULTILINE)
    return session.verify(
        Item(kernel, reference, source_sha256(kernel), source_sha256(reference), shims=tuple(shims.shims_for(reference)))
    )


@pytest.mark.parametrize(
    ("problem", "kernel", "want", "gate"),
    [
        ("level2/3_Noisy_Gate.py", NOISE, "UNVERIFIABLE:stochastic_reference", "reference"),
        ("level2/4_Mass_Check.py", MASS, "DEGENERATE_PROBLEM", "power"),
        ("level4/2_Running_Centre.py", CENTRE, "UNVERIFIABLE:stateful_reference", "reference"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_the_reason(
    problem: str, kernel: str, want: str, gate: str, session: Session
) -> None:
    said = verdict(session, kernel, problem, 16)
    assert (said["verdict"], said["gate"], said["correctness"]) == (want, gate, "unknown")
    assert said["witness"]


def test_an_honest_kernel_for_rows_with_several_maxima(session: Session) -> None:
    assert verdict(session, ONE_BY_ONE, "level1/3_Top_K.py", 16)["correctness"] == "passed"


def test_a_kernel_that_loses_equal_values_is_wrong(session: Session) -> None:
    said = verdict(session, BY_VALUE, "level1/3_Top_K.py", 16)
    assert (said["verdict"].split(":")[0], said["correctness"]) == ("INCORRECT", "failed")
