"""The same gates on a GPU. Run by `make gpu-test`, on a machine that has one; `PART=i/n` runs one part."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from kbstats.analytics.verify.runner.items import Item, source_sha256
from kbstats.analytics.verify.runner.session import Session

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not os.environ.get("KBSTATS_GPU_TEST"), reason="KBSTATS_GPU_TEST is not set"),
]

FILE = tomllib.loads((Path(__file__).parent / "cases.toml").read_text(encoding="utf-8"))
PART, PARTS = (int(n) for n in os.environ.get("PART", "1/1").split("/"))
CASES = {name: case for i, (name, case) in enumerate(FILE["cases"].items()) if i % PARTS == PART - 1}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session("cuda", budget_s=20.0) as opened:
        yield opened


def run(session: Session, name: str) -> dict[str, Any]:
    case = CASES[name]
    kernel, reference = case["source"], FILE["problems"][case["problem"]]
    return session.verify(Item(kernel, reference, source_sha256(kernel), source_sha256(reference)))


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c["kind"] == "adversary"])
def test_refused(name: str, session: Session) -> None:
    doc = run(session, name)
    assert any(doc["verdict"].startswith(v) for v in CASES[name]["verdict"].split("|")), (
        doc["verdict"],
        doc["witness"],
    )
    assert str(doc["gate"]) in CASES[name]["gate"].split("|")


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if c["kind"] == "honest"])
def test_passes(name: str, session: Session) -> None:
    doc = run(session, name)
    assert doc["correctness"] == "passed", (doc["verdict"], doc["gate"], doc["witness"])
    assert doc["verdict"].partition(":")[0] not in ("HACK", "SUSPECT", "INCORRECT", "CONFIRMED_REDUCED", "FLAKY")
    assert "badge" not in CASES[name] or CASES[name]["badge"] in doc["badges"]
    assert doc["baselines"]["gpu_busy"]["pairs"] >= 2
