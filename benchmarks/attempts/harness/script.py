"""The scripted runs: one TOML file each, named after its model, level and problem."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Run:
    """One scripted run: its policy, its problem and its turns.

    Attributes:
        company: It is never timed, so that others may run beside it.
        forbidden: What the static check refuses at this problem.
    """

    model: str
    about: str
    level: int
    problem_id: int
    problem_name: str
    reference: str
    backend: str
    fixed_batch: bool
    company: bool
    forbidden: tuple[str, ...]
    kernels: dict[str, str]
    turns: list[dict[str, Any]]

    @property
    def stem(self) -> str:
        """File name without its ending."""
        return f"level_{self.level}_problem_{self.problem_id}"


def load_runs(attempts: Path, problems: Path, only: list[str], fixed_batch: bool) -> list[Run]:
    """Reads the attempt files, in order of model, level and problem."""
    about = tomllib.loads((attempts / "policies.toml").read_text(encoding="utf-8"))
    runs = []
    for path in sorted(attempts.glob("sample-*/level_*_problem_*.toml")):
        model = path.parent.name
        if only and f"{model}/{path.stem}" not in only:
            continue
        spec = tomllib.loads(path.read_text(encoding="utf-8"))
        _, level, _, problem_id = path.stem.split("_")
        problem = next((problems / f"level{level}").glob(f"{problem_id}_*.py"))
        runs.append(
            Run(
                model=model,
                about=about[model],
                level=int(level),
                problem_id=int(problem_id),
                problem_name=problem.name,
                reference=problem.read_text(encoding="utf-8"),
                backend=spec.get("backend", "triton"),
                fixed_batch=fixed_batch or spec.get("check_batch_fixed", False),
                company=spec.get("company", False),
                forbidden=tuple(spec.get("forbidden", ())),
                kernels={name: text.lstrip("\n") for name, text in spec["kernels"].items()},
                turns=spec["turns"],
            )
        )
    return runs
