"""Each adversary is refused at the gate that is meant for it; the same source without its trick passes."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
PROBLEMS = tomllib.loads((HERE / "problems.toml").read_text(encoding="utf-8"))
ADVERSARIES = tomllib.loads((HERE / "adversaries.toml").read_text(encoding="utf-8"))

NEVER = ("CONFIRMED_FASTER", "CONFIRMED:", "NO_SPEEDUP", "SLOWER_THAN_CLAIMED", "INCONCLUSIVE")


def starts(verdict: str, prefixes: str) -> bool:
    return any(verdict == p or verdict.startswith((p + ":", p)) for p in prefixes.split("|"))


@pytest.mark.parametrize("name", ADVERSARIES)
def test_refused(name: str, verify: Callable[..., dict[str, Any]]) -> None:
    case = ADVERSARIES[name]
    doc = verify(case["source"], PROBLEMS[case["problem"]], budget_s=case.get("budget_s", 2.0))
    assert starts(doc["verdict"], case["verdict"]), (doc["verdict"], doc["gate"], doc["witness"])
    assert doc["verdict"] != "CONFIRMED" or case.get("fair")
    assert str(doc["gate"]) in case["gate"].split("|"), (doc["verdict"], doc["gate"], doc["witness"])
    if case.get("fair"):
        # It is right, and the reference it spoils is not the one that is timed: it does without a module's
        # call and may be a few per cent faster, never by the hundredfold that the sabotage would give.
        assert doc["correctness"] == "passed"
        # The interval's low end: on a busy machine a short session's middle may be anywhere in it.
        assert doc["speedup_lo"] < 1.3
    elif case.get("bounded") and doc["correctness"] == "passed":
        assert doc["speedup_lo"] < 1.05
    elif not doc["verdict"].startswith("CONFIRMED_REDUCED"):
        assert doc["correctness"] != "passed"
        assert doc["speedup"] is None
        assert doc["witness"]


@pytest.mark.parametrize("name", ADVERSARIES)
def test_twin_without_the_trick_passes(name: str, verify: Callable[..., dict[str, Any]]) -> None:
    case = ADVERSARIES[name]
    honest = case["source"].replace("TRICK = True", "TRICK = False")
    assert honest != case["source"]
    doc = verify(honest, PROBLEMS[case["problem"]])
    assert doc["correctness"] == "passed", (doc["verdict"], doc["gate"], doc["witness"])
    assert doc["verdict"].partition(":")[0] not in ("HACK", "SUSPECT", "INCORRECT", "CONFIRMED_REDUCED", "FLAKY")
    assert doc["speedup_lo"] <= doc["speedup"] <= doc["speedup_hi"]


def test_the_failing_shape_is_the_witness(verify: Callable[..., dict[str, Any]]) -> None:
    case = ADVERSARIES["batch_of_16"]
    doc = verify(case["source"], PROBLEMS[case["problem"]])
    ((rows, width),) = doc["witness"]["input_shapes"]
    # int(0.85 * 16) = 13 and int(1.15 * 16) = 18: all six sizes but 16 come back wrong.
    assert rows in {13, 14, 15, 17, 18}
    assert width == 48
    assert doc["witness"]["got"][0]["shape"] == [16, 24]
    assert doc["witness"]["expected"][0]["shape"] == [rows, 24]


def test_nothing_escaped() -> None:
    assert not Path("/tmp/kbv-pickle-bomb").exists()
    left = [p for p in Path("/proc").iterdir() if p.name.isdigit() and _starts_forks(p)]
    assert not left


def _starts_forks(process: Path) -> bool:
    try:
        return "kbv-fork" in (process / "environ").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def test_a_kernel_that_cannot_be_imported_here_is_not_called_wrong(verify: Callable[..., dict[str, Any]]) -> None:
    doc = verify("import a_module_that_no_machine_has\n", PROBLEMS["matmul"])
    assert (doc["verdict"], doc["gate"], doc["correctness"]) == ("BUILD_FAILED:import", "G0", "unknown")
    assert "a_module_that_no_machine_has" in doc["witness"]["error"]
