"""Where work runs: in processes of this machine, as jobs of Slurm, as tasks of Ray.

An engine is a class with the methods of `Engine`, named by an entry point of the group
`kbstats.executors`; the built-in ones register the same way. It runs functions of a module on plain
arguments. The work itself is cut so that an engine need not be trusted with it: a task finds what is to
do and leaves what it did in files, so that a lost one is run again and a second run skips what is done.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Protocol

from kbstats.ingest.errors import KbstatsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

GROUP = "kbstats.executors"
TRIES = 3
"""How often a task is run whose worker is lost."""


@dataclass(frozen=True)
class Settings:
    """What an engine needs to know.

    Args:
        workers: Tasks at a time, where the engine decides that.
        gpus: GPUs a task needs.
        folder: Where the engine may keep logs; every machine that runs tasks must see it.
        options: The engine's own, as `key=value` on the command line.
    """

    workers: int
    gpus: int
    folder: Path
    options: dict[str, str] = field(default_factory=dict)


class Handle(Protocol):
    """A task under way, as `concurrent.futures.Future` has it."""

    def result(self) -> Any:
        """Wait for the task; its value, or the exception that it ended with."""


class Engine(Protocol):
    """What runs tasks, as `concurrent.futures.Executor` has it, and many at once: a job array is one request."""

    def __init__(self, settings: Settings) -> None: ...

    def submit_all(self, task: Callable[[dict[str, Any]], Any], specs: Sequence[dict[str, Any]]) -> list[Handle]:
        """Start one task for each argument."""

    def shutdown(self) -> None:
        """End; tasks that run are stopped."""


def load(name: str, settings: Settings) -> Engine:
    """An engine by name.

    Raises:
        UsageError: there is none of this name, or the package that it needs is not installed.
    """
    found = {e.name: e for e in entry_points(group=GROUP)}
    if name not in found:
        raise UsageError(f"no engine {name!r}", hint=f"installed: {', '.join(sorted(found))}")
    try:
        engine: Engine = found[name].load()(settings)
    except ModuleNotFoundError as e:
        raise UsageError(f"the engine {name!r} needs {e.name}", hint=f"pip install 'kbstats[{name}]'") from e
    return engine


def settings_of(words: Sequence[str]) -> dict[str, str]:
    """Read `key=value` words.

    Raises:
        UsageError: a word without `=`.
    """
    for word in words:
        if "=" not in word:
            raise UsageError(f"no engine option: {word!r}", hint="key=value, as partition=gpu")
    return dict(word.split("=", 1) for word in words)


def run_all(
    engine: Engine, task: Callable[[dict[str, Any]], Any], specs: Sequence[dict[str, Any]]
) -> tuple[list[Any], list[str]]:
    """Run a task for each argument; those whose worker is lost are run again.

    Returns:
        The values, in the order of the arguments, None for what was lost in all tries; and a line for each such.

    Raises:
        KbstatsError: a task says that it cannot do its part.
    """
    values: list[Any] = [None] * len(specs)
    left = list(range(len(specs)))
    why: dict[int, str] = {}
    for _ in range(TRIES):
        handles = engine.submit_all(task, [specs[n] for n in left])
        lost = []
        for n, handle in zip(left, handles, strict=True):
            try:
                values[n] = handle.result()
            except KbstatsError:
                raise
            except Exception as e:  # noqa: BLE001  each engine has its own words for a lost worker
                why[n] = f"{type(e).__name__}: {(str(e).strip().splitlines() or [''])[-1][:200]}"
                lost.append(n)
        left = lost
        if not left:
            break
    return values, [f"task {n}: {why[n]}" for n in left]


def default_workers() -> int:
    """How many tasks this machine runs at a time."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
