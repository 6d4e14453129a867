"""The recorder on a CPU: what it plays, what it rehearses, and that one bad script stops nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

RECORD = Path(__file__).parents[2] / "benchmarks" / "record.py"
POLICIES = 'sample-x = "You are sample-x, a scripted policy."\n'
GOOD = '''[kernels]
plain = """
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, gate, update):
        return torch.addcmul(x, torch.sigmoid(gate), update)
"""
half = """
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x, gate, update):
        return (x + torch.sigmoid(gate) * update).half()
"""

[[turns]]
tool = "run_correctness"
kernel = "half"

[[turns]]
tool = "submit_kernel"
kernel = "plain"
'''


def play(folder: Path, scripts: dict[str, str], *args: str) -> subprocess.CompletedProcess[str]:
    attempts = folder / "attempts"
    (attempts / "sample-x").mkdir(parents=True)
    (attempts / "policies.toml").write_text(POLICIES)
    for stem, text in scripts.items():
        (attempts / "sample-x" / f"{stem}.toml").write_text(text)
    return subprocess.run(
        [
            sys.executable, RECORD, "--attempts", attempts, "--out", folder / "runs", "--root", folder / "suite",
            "--device", "cpu", "--set", "N=4", "--trials", "2", *args,
        ],
        capture_output=True,
        text=True,
    )  # fmt: skip


def test_what_a_kernel_gives_is_written_down_and_a_bad_script_stops_nothing(tmp_path: Path) -> None:
    bad = GOOD.replace('kernel = "plain"', 'kernel = "lost"')
    done = play(
        tmp_path,
        {"level_1_problem_1": GOOD, "level_1_problem_2": f"company = true\n{bad}", "level_2_problem_3": bad},
    )
    assert done.returncode == 1
    listed = done.stderr.partition("not recorded:\n")[2].splitlines()
    assert listed == [f"sample-x/level_{where}: KeyError: 'lost'" for where in ("1_problem_2", "2_problem_3")]
    (path,) = (tmp_path / "runs").rglob("*_trajectory.json")
    assert path.name == "level_1_problem_1_trajectory.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    first, last = (turn["tool_calls"][0] for turn in run["turns"])
    assert "Expected torch.float32, got torch.float16" in first["result_text"]
    assert (first["success"], last["success"], run["outcome"]) == (False, True, "correct")
    # Nothing is timed on a CPU.
    assert run["final_result"]["runtime"] == -1.0
    kept = path.with_name("level_1_problem_1_kernel.py").read_text(encoding="utf-8")
    assert kept == run["turns"][-1]["submitted_kernel"]
    again = play(tmp_path / "again", {"level_1_problem_1": GOOD}, "--skip", str(tmp_path / "runs"))
    assert (again.returncode, again.stdout[:6]) == (0, "0 runs")


def test_a_rehearsal_names_what_a_script_gets_wrong(tmp_path: Path) -> None:
    wrong = GOOD.replace('"submit_kernel"', '"send_kernel"')
    done = play(tmp_path, {"level_1_problem_1": wrong, "level_2_problem_3": GOOD}, "--dry-run")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["sample-x/level_1_problem_1: turn 1 names no tool or kernel"]
    assert "3_Noisy_Gate.py: differs from itself" in done.stdout
    assert not (tmp_path / "runs").exists()
