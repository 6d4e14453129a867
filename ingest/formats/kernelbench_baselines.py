"""Reference timings of KernelBench: results/timing/{hardware}/baseline_time_*.json, in milliseconds."""

from __future__ import annotations

import re
import statistics
from typing import TYPE_CHECKING, Any

from kbstats.ingest import identity, metrics
from kbstats.ingest.rows import Baseline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source

_NAME = re.compile(r"baseline_time(?P<what>[\w.\-]*)\.json")
_ACTIVATION = re.compile(r"(?:19|2[0-9]|3[0-2])_")
"""Level 1, problems 19 to 32: ReLU to HardTanh."""
_LEVEL = re.compile(r"level_?(?P<level>\d+)")


def is_baseline_name(name: str) -> bool:
    """Whether a file is named like a baseline timing file."""
    return bool(_NAME.fullmatch(name))


def baseline_of(name: str) -> str:
    """The baseline that a file's name tells: `eager`, `compile`, or `compile:` and the options.

    `baseline_time_torch.json` is eager, `…_torch_compile_inductor_default.json` is compile.
    """
    m = _NAME.fullmatch(name)
    words = (m["what"] if m else "").strip("_")
    if "compile" not in words:
        return "eager"
    rest = words.split("compile", 1)[1].strip("_")
    rest = rest.removeprefix("inductor").strip("_")
    return "compile" if rest in {"", "default"} else f"compile:{rest}"


def era_of(document: Mapping[str, Any]) -> str | None:
    """Which generation of problem sizes was timed: `0`, `0.1` (of 2025), or None where it cannot be told.

    KernelBench 0.1 made its inputs larger, under the same names. Its activations move two tensors of
    6.4 GB, which takes over a millisecond on any GPU there is; the first generation's move 2 MB, which
    none needs 0.1 ms for. The middle of a file's activations tells, whatever the machine.
    """
    level = document.get("level1") or document.get("level_1")
    entries = level.items() if isinstance(level, dict) else ()
    times = [
        t
        for name, entry in entries
        if isinstance(entry, dict) and _ACTIVATION.match(name) and (t := metrics.positive(entry.get("mean")))
    ]
    if len(times) < 3:
        return None
    return "0" if statistics.median(times) < 0.5 else "0.1"


def read_baselines(source: Source, batch: Batch, document: Mapping[str, Any]) -> None:
    """All timings of a file; a null entry was not measured and is no row."""
    baseline = baseline_of(source.path.name)
    era = era_of(document)
    n = 0
    for key, problems in document.items():
        m = _LEVEL.fullmatch(key)
        if m is None or not isinstance(problems, dict):
            batch.issue("unknown_key", f"{key[:60]!r} is no level; left out", location=f"/{key}")
            continue
        for name, entry in problems.items():
            if not isinstance(entry, dict):
                continue
            hardware = entry.get("hardware")
            n += 1
            batch.add(
                Baseline(
                    source_id=source.source_id,
                    suite=identity.KERNELBENCH,
                    hardware=hardware if isinstance(hardware, str) else source.path.parent.name,
                    baseline=baseline,
                    level=int(m["level"]),
                    problem_name=name,
                    mean_us=metrics.positive(entry.get("mean"), metrics.MS_TO_US),
                    std_us=_at_least_zero(entry.get("std")),
                    min_us=metrics.positive(entry.get("min"), metrics.MS_TO_US),
                    max_us=metrics.positive(entry.get("max"), metrics.MS_TO_US),
                    n_trials=int(trials) if (trials := metrics.positive(entry.get("num_trials"))) else None,
                    era=era,
                )
            )
    if not n:
        batch.issue("no_timings", "the file holds no timing, all its entries are null")


def _at_least_zero(value: Any) -> float | None:
    """A spread in microseconds: 0 is a value."""
    number = metrics.number(value)
    return number * metrics.MS_TO_US if number is not None and number >= 0 else None
