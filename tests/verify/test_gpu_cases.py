"""What runs on a GPU alone is checked here for all that needs none: sources, problems, kinds and gates."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from kbstats.analytics.verify.schema import Word

HERE = Path(__file__).parent
FILE = tomllib.loads((HERE / "gpu.toml").read_text(encoding="utf-8"))
PROBLEMS = tomllib.loads((HERE / "problems.toml").read_text(encoding="utf-8")) | FILE["problems"]
GATES = {"None", "wire", "clock", "timed", "floor", *(f"G{n}" for n in range(8))}


@pytest.mark.parametrize("name", FILE["cases"])
def test_a_case_is_whole(name: str) -> None:
    case = FILE["cases"][name]
    names = {n.name for n in ast.parse(case["source"]).body if isinstance(n, ast.ClassDef)}
    assert "ModelNew" in names
    assert "Model" in {n.name for n in ast.parse(PROBLEMS[case["problem"]]).body if isinstance(n, ast.ClassDef)}
    if case["kind"] == "adversary":
        assert {v.partition(":")[0] for v in case["verdict"].split("|")} <= set(get_args(Word))
        assert set(case["gate"].split("|")) <= GATES
    else:
        assert case["kind"] in {"honest", "persistent"}
        assert (case["kind"] == "persistent") == ("TRICK = True" in case["source"])
