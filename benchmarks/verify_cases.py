"""What the verifier is tried on: the kernels of tests/verify, and problems whose answer is known beforehand."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = ROOT / "tests" / "verify"
HEAD = "import torch\nimport torch.nn as nn\n"
SIZES = {"cpu": (16, 96, 128), "cuda": (64, 1024, 4096)}
"""Rows of a square product whose A/A interval has to hold 1.0, from launch-bound to compute-bound."""

NOTHING = f"""{HEAD}class Model(nn.Module):
    def forward(self, x):
        return x.view(x.shape[0], -1)
def get_inputs():
    return [torch.randn(64, 8, 8)]
"""
ELEMENTWISE = f"""{HEAD}class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(8192, 8192)]
"""
"""64 M elements."""

Document = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One kernel against one reference, and what its result has to be."""

    part: str
    name: str
    kernel: str
    reference: str
    good: Callable[[Document], bool]
    budget_s: float | None = None
    """None: the suite's own."""
    timing: bool = False
    """Whether the time is what is asked, so that the longer budget serves."""
    fields: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What makes a row of an earlier run the same case."""
        text = f"{self.part}\x00{self.name}\x00{self.kernel}\x00{self.reference}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def read(name: str) -> dict[str, Any]:
    """Read one file of cases."""
    return tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))


def sources(device: str) -> dict[str, dict[str, Any]]:
    """Return the kernels for a device by kind; on a GPU those of its own and all that run on either."""
    problems = read("problems.toml")
    found = {kind: read(f"{kind}.toml") for kind in ("adversaries", "honest")}
    for cases in found.values():
        for case in cases.values():
            case["reference"] = problems[case["problem"]]
    if device != "cpu":
        gpu = read("gpu.toml")
        for name, case in gpu["cases"].items():
            case["reference"] = (problems | gpu["problems"])[case["problem"]]
            found.setdefault({"adversary": "adversaries"}.get(case["kind"], case["kind"]), {})[name] = case
    return {k: {n: c for n, c in v.items() if c.get("device", device) == device} for k, v in found.items()}


def as_kernel(reference: str) -> str:
    """Return the reference as a kernel."""
    return reference.replace("class Model(", "class ModelNew(")


def same_problem(rows: int) -> str:
    """Return a reference that is timed against itself."""
    body = "    def forward(self, a, b):\n        return torch.relu(a @ b)\n"
    inputs = f"def get_inputs():\n    return [torch.randn({rows}, {rows}), torch.randn({rows}, {rows})]\n"
    return f"{HEAD}class Model(nn.Module):\n{body}{inputs}"


def twice_problem(rows: int, loops: int) -> tuple[str, str]:
    """Return (reference, kernel) of which the reference does a compute-bound product twice as often."""

    def body(count: int) -> str:
        return (
            f"    def forward(self, a, b):\n        for _ in range({count}):\n            c = a @ b\n        return c\n"
        )

    inputs = f"def get_inputs():\n    return [torch.randn({rows}, {rows}), torch.randn({rows}, {rows})]\n"
    reference = f"{HEAD}class Model(nn.Module):\n{body(2 * loops)}{inputs}"
    return reference, f"{HEAD}class ModelNew(nn.Module):\n{body(loops)}"


def adversaries(device: str, repeats: int) -> list[Case]:
    """Kernels that do not do the work."""
    return [
        Case(
            "adversaries",
            f"{name} #{turn}",
            c["source"],
            c["reference"],
            lambda d, c=c: refused(d, c),
            c.get("budget_s"),
        )
        for turn in range(1, repeats + 1)
        for name, c in sources(device)["adversaries"].items()
    ]


def honest(device: str, repeats: int) -> list[Case]:
    """Kernels that do."""
    return [
        Case(
            "honest",
            f"{name} #{turn}",
            c["source"],
            c["reference"],
            lambda d, c=c: passed(d, c),
            c.get("budget_s"),
            fields={"claimed_speedup": c.get("claim")},
        )
        for turn in range(1, repeats + 1)
        for name, c in sources(device)["honest"].items()
    ]


def persistent(device: str) -> list[Case]:
    """Kernels that keep data in the L2 across the flush, each behind its twin without the trick."""
    return [
        Case("persistent", f"{name} {word}", source, c["reference"], measured, timing=True)
        for name, c in sources(device).get("persistent", {}).items()
        for word, source in (
            ("without", c["source"].replace("TRICK = True", "TRICK = False")),
            ("with", c["source"]),
        )
    ]


def power() -> list[Case]:
    """Mutants of every reference."""
    return [
        Case("power", name, as_kernel(reference), reference, powerful)
        for name, reference in read("problems.toml").items()
    ]


def same(device: str, sessions: int, part: str = "same", rows: tuple[int, ...] = ()) -> list[Case]:
    """The reference against itself."""
    return [
        Case(part, f"{n} rows #{turn}", as_kernel(r := same_problem(n)), r, holds_one, timing=True)
        for turn in range(1, sessions + 1)
        for n in rows or SIZES[device]
    ]


def twice(device: str, repeats: int) -> list[Case]:
    """A loop of 2n against one of n."""
    rows, loops, margin = (96, 6, 0.05) if device == "cpu" else (4096, 2, 0.03)
    reference, kernel = twice_problem(rows, loops)

    def near_two(d: Document) -> bool:
        return measured(d) and abs(d["speedup"] - 2.0) <= 2.0 * margin

    return [
        Case("twice", f"{rows} rows #{turn}", kernel, reference, near_two, timing=True)
        for turn in range(1, repeats + 1)
    ]


def noop(device: str) -> list[Case]:
    """What the loop around a call costs: a call that does nothing, beside 64 M elements of real work."""
    if device == "cpu":
        return []
    return [
        Case("noop", name, as_kernel(r), r, measured, timing=True)
        for name, r in (("nothing", NOTHING), ("elementwise", ELEMENTWISE))
    ]


def measured(doc: Document) -> bool:
    """Say whether there is a speedup at all."""
    return doc["speedup"] is not None


def holds_one(doc: Document) -> bool:
    """Say whether the interval holds 1.0."""
    return measured(doc) and doc["speedup_lo"] <= 1.0 <= doc["speedup_hi"]


def refused(doc: Document, case: dict[str, Any]) -> bool:
    """Say whether an adversary got the verdict and the gate that are meant for it."""
    verdict = any(doc["verdict"].startswith(p) for p in case["verdict"].split("|"))
    fair = case.get("fair") or doc["verdict"] != "CONFIRMED"
    return verdict and fair and str(doc["gate"]) in case["gate"].split("|")


def passed(doc: Document, case: dict[str, Any]) -> bool:
    """Say whether an honest kernel passed, with its badge."""
    word = doc["verdict"].partition(":")[0]
    good = doc["correctness"] == "passed" and word not in {"HACK", "SUSPECT", "INCORRECT", "FLAKY", "CONFIRMED_REDUCED"}
    return good and (not case.get("badge") or case["badge"] in doc["badges"])


def powerful(doc: Document) -> bool:
    """Say whether the judge refuses nine mutants of ten; a problem that cannot be judged has none."""
    found = next((c["detail"] for c in doc["checks"] if c["gate"] == "power"), {})
    return not found.get("mutants") or found["rejected"] >= 0.9 * found["mutants"]
