"""flashinfer-bench and SOL-ExecBench: traces (one evaluation of one solution on one workload).

A data set is {definitions, solutions, workloads, traces}/…: traces are JSON lines, or one document a
file. Definitions are read into `problems`, solutions into `kernels`; a trace finds both beside it. A
workload without a solution is no attempt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.ingest import decode, jsonlines
from kbstats.ingest.format import CONTENT, EXACT, NO, SHAPE, Format, Source
from kbstats.ingest.formats.flashinfer_bench_files import Dataset, definition_of, read_definition, read_solution
from kbstats.ingest.formats.flashinfer_bench_traces import FLASHINFER, Traces

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kbstats.ingest.batch import Batch

_TRACE = (b'"definition"', b'"workload"', b'"axes"')
_DEFINITION = (b'"op_type"', b'"axes"', b'"inputs"')
_SOLUTION = (b'"definition"', b'"spec"', b'"author"')


class FlashInferBench(Format):
    """Traces, definitions and solutions."""

    name = FLASHINFER
    suffixes = frozenset({".jsonl", ".json", ".ndjson"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By the keys that a trace, a definition and a solution begin with."""
        if all(k in head for k in _TRACE) and (b'"evaluation"' in head or b'"solution"' in head):
            return EXACT
        if path.suffix.lower() != ".json":
            return NO
        if all(k in head for k in _DEFINITION):
            return CONTENT
        return SHAPE if all(k in head for k in _SOLUTION) and b'"sources"' in head else NO

    def companions(self, path: Path) -> Iterable[Path]:
        """The definitions and solutions that the file's name speaks of, in the same data set."""
        return Dataset(path).companions()

    def read(self, source: Source, batch: Batch) -> None:
        """One run an evaluated line; the others tell which workloads there are."""
        traces = Traces(source, batch)
        for where, document in _documents(source, batch):
            if "workload" in document or "evaluation" in document:
                traces.take(where, document)
            elif isinstance(document.get("sources"), list):
                read_solution(document, batch)
            elif definition_of(document):
                read_definition(source, batch, document)
            else:
                batch.issue(
                    "bad_line",
                    "no trace, definition or solution; left out",
                    severity="error",
                    location=where.strip() or "/",
                )


FORMAT = FlashInferBench()


def _documents(source: Source, batch: Batch) -> Iterator[tuple[str, dict[str, Any]]]:
    if source.path.suffix.lower() != ".json":
        for line, document in jsonlines.objects(source.read(), batch):
            yield f"line {line} ", document
        return
    try:
        found = decode.untyped(source.read(), batch)
    except decode.UnreadableError as e:
        if e.code == "not_json":
            batch.reject(e.code, e.message, location=e.location)
        else:
            batch.partial(e.code, e.message, location=e.location)
        return
    if isinstance(found, dict):
        yield "", found
        return
    for i, document in enumerate(found if isinstance(found, list) else ()):
        if isinstance(document, dict):
            yield f"/{i}", document
    if not isinstance(found, list):
        batch.reject("not_results", "the document is no JSON object")
