"""POPCORNBENCH's run_summary.json: one line a run, for sweeps whose trajectories are not public.

Its `runtime_us` and `ref_runtime_us` hold milliseconds, whatever they are called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.ingest import decode, identity, metrics
from kbstats.ingest.format import CONTENT, EXACT, NO, Format, Source
from kbstats.ingest.formats.exec_result import kept, located, mapping
from kbstats.ingest.lenient import point, to_bool, to_float, to_int, to_str
from kbstats.ingest.rows import Run
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from kbstats.ingest.batch import Batch

NAME = "popcornbench_summary"
FILE = "run_summary.json"
_KEYS = (b'"run_name"', b'"trajectory_count"', b'"outcome_counts"')
_COLUMNS = frozenset(
    {
        "variant", "model", "level", "problem_id", "problem_name", "outcome", "finished_at", "speedup",
        "runtime_us", "ref_runtime_us", "compiled", "correctness", "total_turns", "total_tool_calls",
    }
)


class PopcornbenchSummary(Format):
    """One run an entry of `variants.*.trajectories`."""

    name = NAME
    suffixes = frozenset({".json"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By its keys; the name alone is too common."""
        if not all(k in head for k in _KEYS):
            return NO
        return EXACT if path.name == FILE else CONTENT

    def read(self, source: Source, batch: Batch) -> None:
        """All entries."""
        try:
            document = decode.untyped(source.read(), batch)
        except decode.UnreadableError as e:
            (batch.reject if e.code == "not_json" else batch.partial)(e.code, e.message, location=e.location)
            return
        if not isinstance(document, dict) or not isinstance(document.get("variants"), dict):
            batch.reject("not_results", "the document lists no variants")
            return
        sweep = document.get("run_name")
        sweep = sweep if isinstance(sweep, str) and sweep else source.path.parent.name
        for pointer, variant, entry in _entries(document["variants"], batch):
            _run(batch, {"variant": variant, **entry}, pointer, sweep)


FORMAT = PopcornbenchSummary()


def _entries(variants: dict[str, Any], batch: Batch) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for variant, summary in variants.items():
        listed = mapping(summary).get("trajectories")
        if not isinstance(listed, list):
            batch.issue("type_dropped", "expected a list of trajectories", location=f"/variants/{variant}")
            continue
        for i, entry in enumerate(listed):
            pointer = point(point("/variants", variant), "trajectories") + f"/{i}"
            if isinstance(entry, dict):
                yield pointer, variant, entry
            else:
                batch.issue("type_dropped", "expected a run's object; left out", location=pointer)


def _run(batch: Batch, entry: dict[str, Any], pointer: str, sweep: str) -> None:
    report = located(batch, pointer)

    def get(key: str, convert: Callable[..., Any]) -> Any:
        value = entry.get(key)
        return None if value is None else convert(value, report, point("", key))

    name = get("problem_name", to_str)
    columns = {
        "suite": identity.POPCORNBENCH,
        "sweep": sweep,
        "variant": get("variant", to_str),
        "model_raw": get("model", to_str),
        "level": get("level", to_int),
        "problem_id": get("problem_id", to_int),
        "problem_name": None if not name or name == "(skipped)" else name,
        "sample_id": 0,
        "harness": identity.POPCORNBENCH,
    }
    runtime, ref = (
        metrics.positive(get(k, to_float), metrics.MS_TO_US) for k in ("runtime_us", "ref_runtime_us")
    )
    run_id, correct = identity.run_id(**columns), get("correctness", to_bool)
    measured = ref / runtime if runtime and ref else None
    speedup = batch.speedup(get("speedup", to_float), run_id, correct=correct, measured=measured)
    batch.add(
        Run(
            run_id=run_id,
            source_id=batch.source_id,
            format=NAME,
            **columns,
            mode=identity.mode_of(sweep),
            model=identity.model_of(columns["model_raw"]),
            n_turns=get("total_turns", to_int),
            n_tool_calls=get("total_tool_calls", to_int),
            finished_at=utc(entry.get("finished_at"), batch, point(pointer, "finished_at")),
            source_outcome=get("outcome", to_str),
            compiled=get("compiled", to_bool),
            correct=correct,
            runtime_us=runtime,
            ref_runtime_us=ref,
            speedup=speedup,
            baseline="eager" if speedup is not None else None,
            extra=kept({k: v for k, v in entry.items() if k not in _COLUMNS}),
        )
    )
