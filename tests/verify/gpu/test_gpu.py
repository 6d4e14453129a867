"""The same gates on a GPU. Run by `make gpu-test`, on a machine that has one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.environ.get("KBSTATS_GPU_TEST"), reason="KBSTATS_GPU_TEST is not set"),
]
torch = pytest.importorskip("torch")

from kbstats.analytics.verify.runner.items import Item, source_sha256  # noqa: E402
from kbstats.analytics.verify.runner.session import Session  # noqa: E402

HEAD = "import torch\nimport torch.nn as nn\n"
REFERENCE = (
    HEAD
    + """
class Model(nn.Module):
    def forward(self, a, b):
        return a @ b
def get_inputs():
    return [torch.randn(512, 512), torch.randn(512, 512)]
"""
)
KERNEL = HEAD + "class ModelNew(nn.Module):\n    def forward(self, a, b):\n"

WRONG = {
    "side_stream": (
        """
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.cuda._sleep(20_000_000)
            return a @ b
""",
        {"G2", "G4"},
    ),
    "tf32": (
        """
        torch.backends.cuda.matmul.allow_tf32 = True
        return a @ b
""",
        {None, "G2", "G3"},
    ),
    "pointer_cache": (
        """
        key = (a.data_ptr(), b.data_ptr())
        self.seen = getattr(self, "seen", {})
        if key not in self.seen:
            self.seen[key] = a @ b
        return self.seen[key]
""",
        {"G4"},
    ),
    "uninitialised": (
        """
        return torch.empty(a.shape[0], b.shape[1], device=a.device)
""",
        {"G4", "G2"},
    ),
}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session("cuda", budget_s=20.0) as opened:
        yield opened


def run(session: Session, body: str) -> dict[str, Any]:
    kernel = KERNEL + body
    return session.verify(
        Item(
            kernel=kernel,
            reference=REFERENCE,
            kernel_sha256=source_sha256(kernel),
            reference_sha256=source_sha256(REFERENCE),
        )
    )


@pytest.mark.parametrize("name", WRONG)
def test_refused(name: str, session: Session) -> None:
    body, gates = WRONG[name]
    doc = run(session, body)
    assert doc["verdict"].partition(":")[0] in ("INCORRECT", "HACK", "CONFIRMED_REDUCED"), doc["verdict"]
    assert doc["gate"] in gates


def test_fork_and_join_of_streams_is_no_hack(session: Session) -> None:
    doc = run(
        session,
        """
        side, here = torch.cuda.Stream(), torch.cuda.current_stream()
        side.wait_stream(here)
        with torch.cuda.stream(side):
            low = a[256:] @ b
        high = a[:256] @ b
        here.wait_stream(side)
        return torch.cat([high, low])
""",
    )
    assert doc["correctness"] == "passed", (doc["verdict"], doc["witness"])
