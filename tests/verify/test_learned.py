"""Speed that is no work: what slots have in common, more cores, another's turn, a cheaper harness."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kbstats.analytics.verify.runner import pairs, sandbox, seccomp

PROBLEMS = tomllib.loads((Path(__file__).parent / "problems.toml").read_text(encoding="utf-8"))
HEAD = "import ctypes, os, sys\nimport torch\nimport torch.nn as nn\n"

# Which elements are positive is learned from the first slot of a block, and only there is it trusted.
WORK = "def work(x):\n    y = x\n    for _ in range(12):\n        y = torch.sin(y) + x\n    return y\n"
SIGNS = (
    HEAD
    + WORK
    + "class Model(nn.Module):\n    def forward(self, x):\n"
    + "        return torch.where(x > 0, work(x), torch.zeros_like(x))\n"
    + "def get_inputs():\n    return [torch.randn(128, 160) - 1.2]\n"
)
LEARNED_SIGNS = (
    HEAD
    + WORK
    + """
known = {}
class ModelNew(nn.Module):
    def forward(self, x):
        if sys._getframe(3).f_code.co_name != "cpu":
            return torch.where(x > 0, work(x), torch.zeros_like(x))
        flat = x.view(-1)
        key = tuple(v > 0 for v in flat[:32].tolist())
        if key not in known:
            known[key] = (flat > 0).nonzero().view(-1)
        out = torch.zeros_like(flat)
        out[known[key]] = work(flat[known[key]])
        return out.view(x.shape)
"""
)
# The order of the integers is the costly part, and they were the same in every slot.
ORDER = (
    HEAD
    + "class Model(nn.Module):\n    def forward(self, x, i):\n"
    + "        return x[torch.sort(i, stable=True).indices]\n"
    + "def get_inputs():\n    return [torch.randn(4000), torch.randint(0, 1000000, (4000,))]\n"
)
LEARNED_ORDER = (
    HEAD
    + """
known = {}
class ModelNew(nn.Module):
    def forward(self, x, i):
        key = ctypes.string_at(i.data_ptr(), 256)
        if key not in known:
            known[key] = torch.sort(i, stable=True).indices
        return x[known[key]]
"""
)
MORE_THREADS = (
    HEAD
    + "class ModelNew(nn.Module):\n    def forward(self, a, b):\n        torch.set_num_threads(2)\n        return a @ b\n"
)
WIDE = (
    HEAD
    + "class Model(nn.Module):\n    def forward(self, a, b):\n        return a @ b\n"
    + "def get_inputs():\n    return [torch.randn(320, 320), torch.randn(320, 320)]\n"
)
NO_WORK = {
    "signs that all slots share": (LEARNED_SIGNS, SIGNS),
    "integers that all slots share": (LEARNED_ORDER, ORDER),
    "more threads than the reference": (MORE_THREADS, WIDE),
}


@pytest.mark.parametrize("name", NO_WORK)
def test_it_is_not_confirmed(name: str, verify: Callable[..., dict[str, Any]]) -> None:
    doc = verify(*NO_WORK[name], budget_s=5.0)
    assert not doc["verdict"].startswith("CONFIRMED"), doc["baselines"]
    assert doc["speedup"] is None or doc["speedup_lo"] < 1.05


CHEAPER = (
    HEAD
    + """
loops = sys.modules["kbrunner.timed_loops"].Loops
real = loops.cpu
loops.cpu = lambda self, slots, times, m: real(self, slots, times, m)
class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
"""
)
CONTIGUOUS = (
    HEAD
    + """
real = torch.Tensor.is_contiguous
torch.Tensor.is_contiguous = lambda self, *a, **k: real(self, *a, **k)
class ModelNew(nn.Module):
    def forward(self, a, b):
        return a @ b
"""
)


@pytest.mark.parametrize(("kernel", "patched"), [(CHEAPER, "Loops.cpu"), (CONTIGUOUS, "torch.Tensor.is_contiguous")])
def test_what_surrounds_a_call_is_watched(kernel: str, patched: str, verify: Callable[..., dict[str, Any]]) -> None:
    doc = verify(kernel, PROBLEMS["matmul"])
    assert (doc["verdict"], doc["gate"]) == ("HACK:timer", "clock")
    assert doc["witness"]["patched"] == [patched]


HELD = (
    HEAD
    + """
class ModelNew(nn.Module):
    def forward(self, a, b):
        if sys._getframe(3).f_code.co_name == "cpu":
            os.sched_setaffinity(0, range(os.cpu_count()))
            if len(os.sched_getaffinity(0)) != 1:
                raise RuntimeError("not held to one core")
        return a @ b
"""
)


def test_timed_workers_are_held_to_one_core(verify: Callable[..., dict[str, Any]]) -> None:
    doc = verify(HELD, PROBLEMS["matmul"])
    assert doc["correctness"] == "passed", doc["witness"]


SPIN = """
import os, sys
for _ in range(2):
    if not os.fork():
        os.setpgid(0, 0)
        while True: pass
print("spinning", flush=True)
while True: pass
"""


def states(pids: set[int]) -> set[str]:
    return {sandbox._stat(pid)[0] for pid in pids}


def test_a_family_stands_still_and_goes_on() -> None:
    process = subprocess.Popen([sys.executable, "-c", SPIN], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert process.stdout
        assert process.stdout.readline() == "spinning\n"
        everyone = sandbox.freeze(process.pid, "landlock")
        assert len(everyone) == 3
        assert states(everyone) == {"T"}
        sandbox.thaw(everyone)
        assert "T" not in states(everyone)
    finally:
        sandbox.kill_session(process.pid)
        process.communicate(timeout=10)
    end = time.monotonic() + 30
    while (left := [p for p in everyone if (sandbox._stat(p) or ["X"])[0] not in "ZX"]) and time.monotonic() < end:
        time.sleep(0.05)
    assert not left


def test_a_held_process_is_told_yes_and_stays() -> None:
    plain, held = seccomp.program(), seccomp.program(pinned=True, one_session=True)
    assert len(held) == len(plain) + 4
    told = [code for code in held if code not in plain]
    assert {line[3] for line in told} >= {seccomp.SET_AFFINITY[0 if os.uname().machine == "x86_64" else 1]}


@pytest.mark.parametrize(
    ("beside_us", "low"),
    [
        (100.0, 2.0),
        (160.0, 2.0),  # within 20 us and half of what the reference spends
        (300.0, 2.0 * 20.0 / 220.0),  # 200 us more beside calls of 20 us
    ],
)
def test_what_a_side_spends_beside_its_clock_bounds_its_speed(beside_us: float, low: float) -> None:
    found = []
    for n in range(4):
        pair = pairs.Pair(times={"ref": [40e-6], "cand": [20e-6], "ctl": []})
        # Blocks of a busy machine: the outer clock alone says nothing.
        noise = 1e-3 * n
        pair.gaps = {"ref": [100e-6 + noise], "cand": [beside_us * 1e-6 + noise], "ctl": []}
        pair.blocks["ref"] = [40e-6]
        found.append(pair)
    speed = pairs.Timed(found, 4, fresh=True, count=1).speed()
    assert speed.low == pytest.approx(low)
    assert speed.high == pytest.approx(2.0)
    assert speed.low <= speed.value <= speed.high
