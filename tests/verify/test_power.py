"""Mutants of each reference are refused, other shapes are badges, and few calls are never enough."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kbstats.analytics.verify.runner import gates, hints, inputs, mutants
from kbstats.analytics.verify.runner.judge import Judge
from kbstats.analytics.verify.runner.oracle import Oracle
from kbstats.analytics.verify.runner.problem import Problem

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
PROBLEMS = tomllib.loads((HERE / "problems.toml").read_text(encoding="utf-8"))
UNJUDGEABLE = {"dropout", "counter", "constant", "drawn_mlp", "view"}
SAMPLES = {p.stem: p for p in sorted((ROOT / "data" / "problems").rglob("*.py"))}
NO_VERDICT = ("3_Noisy_Gate", "4_Mass_Check", "2_Running_Centre", "1_Three_Stage_MLP")
"""Samples that no verification judges, or whose suite's shim is not here."""
HEAD = "import torch\nimport torch.nn as nn\n"


def power(source: str, folder: Path) -> dict[str, Any]:
    import torch

    threads, budget_s = torch.get_num_threads(), mutants.BUDGET_S
    torch.set_num_threads(1)
    # Whether all are tried is not to hang on how busy the machine is.
    mutants.BUDGET_S = 60.0
    try:
        with torch.no_grad():
            oracle = Oracle()
            job = {"device": "cpu", "cast": None, "shims": [], "helpers": {}, "source": source, "secret": 5}
            oracle.problem = Problem(job, str(folder))
            oracle.problem.construct(42)
            judge = Judge(oracle.problem)
            cases = [oracle.build("G2", "nominal", oracle.problem.draw(seed)) for seed in (1, 2)]
            return mutants.power(oracle.problem, judge, cases, oracle.build, str(folder))
    finally:
        torch.set_num_threads(threads)
        mutants.BUDGET_S = budget_s


@pytest.mark.parametrize("name", [n for n in PROBLEMS if n not in UNJUDGEABLE])
def test_the_judge_refuses_mutants(name: str, tmp_path: Path) -> None:
    found = power(PROBLEMS[name], tmp_path)
    assert found["mutants"] >= 5
    assert found["rejected"] >= 0.9 * found["mutants"], found


@pytest.mark.parametrize("name", [n for n in SAMPLES if n not in NO_VERDICT])
def test_the_judge_refuses_mutants_of_the_samples(name: str, tmp_path: Path) -> None:
    # The suite's own constant makes it small; the computation is the same.
    source = SAMPLES[name].read_text(encoding="utf-8")
    for old, new in (
        ("N = 2048", "N = 32"),
        ("WIDTH = 4096", "WIDTH = 256"),
        ("N = 512", "N = 32"),
        ("N = 4096", "N = 64"),
        ("SIDE = 48", "SIDE = 8"),
    ):
        source = source.replace(old, new)
    found = power(source.replace("1024", "96"), tmp_path)
    assert found["mutants"] >= 5
    assert found["rejected"] >= 0.9 * found["mutants"], found


def test_few_timed_calls_are_made_up_for(
    verify: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates, "MIN_CALLS", 100_000)
    asked = []
    real = gates.more

    def more(count: int, rng: Any) -> list[gates.Step]:
        asked.append(count)
        return real(min(count, 5), rng)

    monkeypatch.setattr(gates, "more", more)
    kernel = HEAD + "class ModelNew(nn.Module):\n    def forward(self, a, b):\n        return a @ b\n"
    doc = verify(kernel, PROBLEMS["matmul"], budget_s=1.0)
    assert asked
    assert doc["correctness"] == "passed"
    assert doc["verified_calls"] == 100_000 - asked[0] + 5 + _jittered(doc)


def _jittered(doc: dict[str, Any]) -> int:
    # The judge counts the calls with other shapes, too.
    return next(c["n"] for c in doc["checks"] if c["gate"] == "G7")


FIXED = HEAD + "class ModelNew(nn.Module):\n    def forward(self, x):\n        BODY\n"


@pytest.mark.parametrize(
    ("body", "badge", "words"),
    [
        ("assert x.shape[0] == 64\n        return torch.softmax(x, -1)", "SHAPE_SPECIALISED", "refused"),
        (
            "y = torch.softmax(x, -1)\n        y[64:] = 0\n        return y if x.shape[0] <= 64 else y",
            "SHAPE_UNSAFE",
            "wrong",
        ),
        (
            "flat = torch.as_strided(x, x.shape, (x.shape[1], 1))\n        return torch.softmax(flat, -1)",
            "LAYOUT_UNSAFE",
            "wrong",
        ),
        ("return torch.softmax(x, -1)", None, "right"),
    ],
)
def test_other_shapes_and_layouts_are_badges(
    body: str, badge: str | None, words: str, verify: Callable[..., dict[str, Any]]
) -> None:
    doc = verify(FIXED.replace("BODY", body), PROBLEMS["softmax"], budget_s=1.0)
    assert doc["correctness"] == "passed", (doc["verdict"], doc["witness"])
    said = next(c["detail"] for c in doc["checks"] if c["gate"] == "G7")
    assert words in said.values(), said
    assert [b for b in doc["badges"] if b.startswith(("SHAPE_", "LAYOUT_"))] == ([badge] if badge else [])


def test_a_replay_repeats_inputs_and_verdict(session: Any, verify: Callable[..., dict[str, Any]]) -> None:
    kernel = HEAD + "class ModelNew(nn.Module):\n    def forward(self, a, b):\n        return a @ b * 1.5\n"
    first = verify(kernel, PROBLEMS["matmul"], budget_s=1.0)
    session.replays[first["kernel_sha256"], first["reference_sha256"]] = first
    try:
        again = verify(kernel, PROBLEMS["matmul"], budget_s=1.0)
    finally:
        session.replays.clear()
    assert first["verdict"] == again["verdict"] == "INCORRECT"
    assert again["replay_of"] == first["verification_id"]
    assert again["seeds"]["inputs"] == first["seeds"]["inputs"]
    assert again["witness"]["expected"] == first["witness"]["expected"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("seen[(a.data_ptr(), b.data_ptr())]", "addresses"),
        ("import threading", "threads"),
        ("torch.cuda.Stream()", "streams"),
        ("torch.backends.cuda.matmul.allow_tf32 = True", "precision"),
        ("os._exit(0)", "process"),
    ],
)
def test_hints(text: str, name: str) -> None:
    assert hints.of(text) == [name]
    assert hints.of("y = torch.relu(x) + b  # time well spent") == []


def test_bends_keep_structure() -> None:
    import random

    import torch

    value = [torch.tril(torch.randn(9, 9)), torch.rand(5)]
    for case in gates.SWEEP:
        bent = inputs.bend(value, case, random.Random(1), torch.Generator().manual_seed(1))
        assert bool((bent[0].triu(1) == 0).all()), case
        assert bool(((bent[1] >= 0) & (bent[1] <= 1)).all()), case
