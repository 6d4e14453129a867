"""One warm session for all verification tests: real processes, a real sandbox, on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

pytest.importorskip("torch", reason="verification runs kernels: pip install -e '.[verify]'")

from kbstats.analytics.verify import shims
from kbstats.analytics.verify.runner.items import Item, source_sha256
from kbstats.analytics.verify.runner.session import Session

Verify = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def session() -> Iterator[Session]:
    with Session("cpu") as opened:
        yield opened


@pytest.fixture
def verify(session: Session) -> Verify:
    """Return a function: (kernel, reference, budget_s=…, **item fields) -> result document."""

    def run(kernel: str, reference: str, *, budget_s: float = 2.0, **fields: Any) -> dict[str, Any]:
        session.budget_s = budget_s
        item = Item(
            kernel=kernel,
            reference=reference,
            kernel_sha256=source_sha256(kernel),
            reference_sha256=source_sha256(reference),
            shims=tuple(shims.shims_for(reference)),
            **fields,
        )
        return session.verify(item)

    return run
