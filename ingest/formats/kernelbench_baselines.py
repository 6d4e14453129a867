"""Reference timings of KernelBench: results/timing/{hardware}/baseline_time_*.json, in milliseconds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kbstats.ingest import identity, metrics
from kbstats.ingest.rows import Baseline

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source

_NAME = re.compile(r"baseline_time(?P<what>[\w.\-]*)\.json")
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


def read_baselines(source: Source, batch: Batch, document: Mapping[str, Any]) -> None:
    """All timings of a file; a null entry was not measured and is no row."""
    baseline = baseline_of(source.path.name)
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
                )
            )
    if not n:
        batch.issue("no_timings", "the file holds no timing, all its entries are null")


def _at_least_zero(value: Any) -> float | None:
    """A spread in microseconds: 0 is a value."""
    number = metrics.number(value)
    return number * metrics.MS_TO_US if number is not None and number >= 0 else None
