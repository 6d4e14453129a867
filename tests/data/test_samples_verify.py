"""The sample problems before the verifier, on the CPU: judged, or refused with the reason."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sysconfig
from pathlib import Path

import pytest

pytest.importorskip("torch")

PROBLEMS = Path(__file__).parents[2] / "data" / "problems"
KBSTATS = Path(sysconfig.get_path("scripts")) / "kbstats"

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


def verdict(folder: Path, kernel: str, problem: str, n: int) -> dict:
    """What `kbstats verify` says of an honest kernel for a problem of size `n`."""
    text = (PROBLEMS / problem).read_text(encoding="utf-8")
    (folder / "reference.py").write_text(re.sub(r"^N = \d+$", f"N = {n}", text, flags=re.MULTILINE))
    (folder / "kernel.py").write_text(kernel)
    done = subprocess.run(
        [
            KBSTATS, "verify", "--kernel-file", "kernel.py", "--reference-file", "reference.py", "--device", "cpu",
            "--budget-s", "5", "--format", "json", "-o", "results.jsonl",
        ],
        cwd=folder,
        env=os.environ | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )  # fmt: skip
    if done.returncode == 1 and "sandbox" in done.stderr:
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("problem", "kernel", "want", "gate"),
    [
        ("level2/3_Noisy_Gate.py", NOISE, "UNVERIFIABLE:stochastic_reference", "reference"),
        ("level2/4_Mass_Check.py", MASS, "DEGENERATE_PROBLEM", "power"),
        ("level4/2_Running_Centre.py", CENTRE, "UNVERIFIABLE:stateful_reference", "reference"),
    ],
)
def test_what_cannot_be_judged_is_refused_with_the_reason(
    problem: str, kernel: str, want: str, gate: str, tmp_path: Path
) -> None:
    said = verdict(tmp_path, kernel, problem, 16)
    assert (said["verdict"], said["gate"], said["correctness"]) == (want, gate, "unknown")
    assert said["witness"]


def test_an_honest_kernel_for_rows_with_several_maxima(tmp_path: Path) -> None:
    assert verdict(tmp_path, ONE_BY_ONE, "level1/3_Top_K.py", 16)["correctness"] == "passed"


def test_a_kernel_that_loses_equal_values_is_wrong(tmp_path: Path) -> None:
    said = verdict(tmp_path, BY_VALUE, "level1/3_Top_K.py", 16)
    assert (said["verdict"].split(":")[0], said["correctness"]) == ("INCORRECT", "failed")
