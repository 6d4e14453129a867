"""Loads a reference and a candidate, with the small names their suite provides."""

from __future__ import annotations

import importlib.util
import random
import re
import sys
import types
from pathlib import Path
from typing import Any

import torch


class PopcornPri:
    """The suite's source of drawn sizes; `fixed` mimics a check that never draws."""

    def __init__(self, fixed: bool) -> None:
        self.fixed = fixed
        self.random = random.Random(0)

    def jitter_int(self, n: int) -> int:
        """An integer from int(0.85 n) to int(1.15 n), both included."""
        return n if self.fixed else self.random.randint(int(0.85 * n), int(1.15 * n))


def install_suite(device: str) -> None:
    """Makes `kernelbench.distributed_collectives.default_device` importable."""
    package = types.ModuleType("kernelbench")
    helper = types.ModuleType("kernelbench.distributed_collectives")
    helper.default_device = lambda: torch.device(device)  # type: ignore[attr-defined]
    sys.modules["kernelbench"] = package
    sys.modules["kernelbench.distributed_collectives"] = helper


def with_sizes(source: str, sizes: dict[str, int]) -> str:
    """The source with constants at the top replaced, for dry runs on a CPU."""
    for name, value in sizes.items():
        source = re.sub(rf"^{name} = \d+$", f"{name} = {value}", source, flags=re.MULTILINE)
    return source


def load_reference(source: str, pri: PopcornPri) -> dict[str, Any]:
    """Executes a reference in a namespace of its own and returns that."""
    namespace: dict[str, Any] = {"__name__": "reference", "popcorn_pri": pri}
    exec(compile(source, "reference.py", "exec"), namespace)  # noqa: S102 - that is the job
    return namespace


def load_candidate(source: str, folder: Path) -> Any:
    """Imports a candidate from a file (Triton reads its kernels' source there).

    Raises:
        Exception: whatever the candidate raises, `SyntaxError` among it.
        LookupError: it defines no `ModelNew`.
    """
    path = folder / "kernel.py"
    path.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("candidate", path)
    if spec is None or spec.loader is None:
        raise ImportError(str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules["candidate"] = module
    spec.loader.exec_module(module)
    if not hasattr(module, "ModelNew"):
        raise LookupError("module 'candidate' has no attribute 'ModelNew'")
    return module.ModelNew


def seeded(seed: int) -> None:
    """Seeds torch on every device."""
    torch.manual_seed(seed)


def to_device(values: list[Any], device: str) -> list[Any]:
    """Moves the tensors of a list to the device, leaves the rest."""
    return [v.to(device) if isinstance(v, torch.Tensor) else v for v in values]
