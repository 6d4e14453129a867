"""Answers that are right too late: what the same tensors hold once all streams have ended, and a moment later."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")

import torch
from kbstats.analytics.verify.runner import challenge, model_worker, wire
from kbstats.analytics.verify.runner.challenge import Limits
from kbstats.analytics.verify.runner.verdict import Refusal

NEVER, BEHIND_STREAMS, LATER = None, 0.0, challenge.LATE_S


@pytest.mark.parametrize(
    ("device", "right_at", "verdict"),
    [
        ("cuda:0", BEHIND_STREAMS, "HACK:stream"),
        ("cuda:0", LATER, "HACK:deferred"),
        ("cuda:0", NEVER, "INCORRECT"),
        ("cpu", LATER, "HACK:deferred"),
        # A CPU has no streams that could be waited for.
        ("cpu", BEHIND_STREAMS, "INCORRECT"),
    ],
)
def test_when_an_answer_becomes_right_names_what_it_was(device: str, right_at: float | None, verdict: str) -> None:
    asked: list[float] = []

    def late(_out: int, wait_s: float, _timeout_s: float) -> wire.Reply:
        asked.append(wait_s)
        return wire.Reply(0, wire.OK, 0, 0.0, (), "")

    oracle = SimpleNamespace(ask=lambda _: {"right": asked[-1] == right_at})
    v: Any = SimpleNamespace(device=device, oracle=oracle, limits=Limits.of(2.0))
    side: Any = SimpleNamespace(late=late)
    wrong = Refusal("INCORRECT", None, "G2", {"input_shapes": [[2]]})
    found = challenge._came_late(v, side, 0, wrong) or wrong
    assert (found.verdict, found.gate) == (verdict, "G2")
    assert found.witness["input_shapes"] == [[2]]
    assert ("right" in found.witness) == (verdict != "INCORRECT")


def test_a_worker_hands_over_what_stood_behind_all_streams_and_what_stands_now(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(model_worker.time, "sleep", waited.append)
    stored: list[torch.Tensor] = []
    harness: Any = SimpleNamespace(
        cuda=False,
        state=0,
        kept=[torch.ones(2)],
        synced=[torch.zeros(2)],
        describe=lambda tensors: (tensors, []),
        store=lambda tensors, at: stored.append(tensors[0]) or at,
    )
    model_worker.late(harness, {"wait_s": 0.0, "out": 0})
    model_worker.late(harness, {"wait_s": 0.2, "out": 0})
    assert [t.tolist() for t in stored] == [[0.0, 0.0], [1.0, 1.0]]
    assert waited == [0.2]
