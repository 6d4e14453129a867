"""Right answers with false times: whatever the inner clock is made to say, the outer one bounds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

HEAD = "import sys, threading, time\nimport torch\nimport torch.nn as nn\n"
REFERENCE = (
    HEAD
    + """
class Model(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)
    def forward(self, x):
        return torch.softmax(self.lin(x), dim=-1)
def get_inputs():
    return [torch.rand(128, 256)]
def get_init_inputs():
    return [256]
"""
)
SAME = """
class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)
    def forward(self, x):
        return torch.softmax(self.lin(x), dim=-1)
"""
# The clocks that stand in the candidate's own process run slower by a factor, from import on.
SLOW_CLOCK = """
real, begin = time.perf_counter, time.perf_counter()
def slow():
    return begin + (real() - begin) / FACTOR
for module in list(sys.modules.values()):
    for name in ("CLOCK", "perf_counter"):
        if getattr(module, name, None) is real:
            setattr(module, name, slow)
"""
# A thread computes the answers while the candidate is not being timed.
AHEAD = """
class ModelNew(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.lin = nn.Linear(d, d)
        self.__dict__.update(seen={}, memo={}, last=0.0)
        threading.Thread(target=self.ahead, daemon=True).start()
    def real(self, x):
        return torch.softmax(self.lin(x), dim=-1)
    def ahead(self):
        torch.set_grad_enabled(False)
        while True:
            if time.perf_counter() - self.last > 0.002:
                for at, x in list(self.seen.items()):
                    known = self.memo.get(at)
                    if known is None or not torch.equal(known[0], x):
                        copy = x.clone()
                        self.memo[at] = (copy, self.real(copy))
            time.sleep(0.0005)
    def forward(self, x):
        self.__dict__["last"] = time.perf_counter()
        known = self.memo.get(x.data_ptr())
        if known is not None and torch.equal(known[0], x):
            return known[1]
        self.seen[x.data_ptr()] = x
        return self.real(x)
"""
FORGED = {
    "a clock that runs 1.8 times slower": SLOW_CLOCK.replace("FACTOR", "1.8") + SAME,
    "a clock that runs 5 times slower": SLOW_CLOCK.replace("FACTOR", "5.0") + SAME,
    "answers computed ahead": AHEAD,
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_speed_is_never_confirmed(name: str, verify: Callable[..., dict[str, Any]]) -> None:
    doc = verify(HEAD + FORGED[name], REFERENCE, budget_s=6.0)
    assert doc["verdict"].partition(":")[0] not in {"CONFIRMED", "CONFIRMED_FASTER"}, doc["baselines"]
    # The same computation: whatever interval is given holds 1 or lies below it.
    assert doc["speedup"] is None or doc["speedup_lo"] < 1.05
