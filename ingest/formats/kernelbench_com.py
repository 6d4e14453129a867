"""kernelbench.com: run folders with result.json, the site's catalog and boards, and its audits.

* `result.json`, also `{run}.result.json`   one run, in the schemas of before and after May 2026; its logs
  and its solution beside it
* `catalog.json`, `leaderboard*.json`       many runs, what the site shows of them
* `annotations/{run}.yaml`                  what an auditor found, into the table `annotations`

The source's own run id names a run everywhere, so that all four speak of the same one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kbstats.ingest import decode
from kbstats.ingest.format import CONTENT, EXACT, NAME, NO, Format, Source
from kbstats.ingest.formats import kernelbench_com_runs as runs
from kbstats.ingest.formats.exec_result import mapping
from kbstats.ingest.formats.kernelbench_com_annotations import annotate

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kbstats.ingest.batch import Batch

RESULT, CATALOG = "result.json", "catalog.json"
_BESIDE = ("check.log", "benchmark.log", "solution.py")
_RESULT_KEYS = (b'"harness"', b'"has_solution"', b'"peak_fraction"', b'"elapsed_seconds"')
_BOARD_KEYS = (b'"schema_version"', b'"models"', b'"run_id"', b'"peak_fraction"')
_YAML_RUN = re.compile(rb"^run_id:[ \t]*[\"']?\d{8}_\d{6}_", re.MULTILINE)
_YAML_KEYS = re.compile(rb"^(?:verdict|harness|problem):", re.MULTILINE)


class KernelBenchCom(Format):
    """Results, catalog, boards and annotations."""

    name = runs.COM
    suffixes = frozenset({".json", ".yaml", ".yml"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By the keys; names such as result.json are common."""
        if path.suffix.lower() != ".json":
            marked = _YAML_RUN.search(head) and len(set(_YAML_KEYS.findall(head))) >= 2
            return (EXACT if path.parent.name == "annotations" else CONTENT) if marked else NO
        if path.name == RESULT or path.name.endswith(f".{RESULT}"):
            return EXACT if all(k in head for k in _RESULT_KEYS) else NO
        if b'"legend"' in head and b'"n_cells"' in head:
            return EXACT if path.name == CATALOG else CONTENT
        if path.name.startswith("leaderboard") and all(k in head for k in _BOARD_KEYS):
            return NAME
        return NO

    def companions(self, path: Path) -> Iterable[Path]:
        """A result's logs and its solution."""
        if path.name == RESULT:
            yield from (p for name in _BESIDE if (p := path.with_name(name)).is_file())

    def read(self, source: Source, batch: Batch) -> None:
        """Whatever of the four it is."""
        if source.path.suffix.lower() != ".json":
            annotate(source, batch)
            return
        try:
            document = decode.untyped(source.read(), batch)
        except decode.UnreadableError as e:
            if e.code == "not_json":
                batch.reject(e.code, e.message, location=e.location)
            else:
                batch.partial(e.code, e.message, location=e.location)
            return
        if not isinstance(document, dict):
            batch.reject("not_results", "the document is no JSON object")
        elif isinstance(document.get("cells"), list):
            _each(source, batch, _cells(document["cells"]))
        elif isinstance(document.get("models"), list):
            _each(source, batch, _board(document))
        elif "problem" in document or "run_id" in document:
            runs.one(source, batch, document, "", runs.run_of(document, source.path))
        else:
            batch.reject("not_results", "the document has none of the keys of a result, a catalog or a board")


FORMAT = KernelBenchCom()


def _cells(cells: list[Any]) -> Iterator[tuple[str, Any]]:
    for i, cell in enumerate(cells):
        yield f"/cells/{i}", cell


def _board(document: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """A board's results, each with the model, the harness and the machine that stand above it."""
    hardware = document.get("hardware")
    gpu = hardware.get("name") if isinstance(hardware, dict) else hardware
    for i, model in enumerate(document["models"]):
        above = mapping(model)
        for problem, result in mapping(above.get("results")).items():
            pointer = f"/models/{i}/results/{problem}"
            if not isinstance(result, dict):
                yield pointer, result
                continue
            yield (
                pointer,
                {
                    "problem": problem,
                    "model": above.get("model"),
                    "harness": above.get("harness"),
                    "reasoning_effort": above.get("effort"),
                    "gpu": gpu,
                    **result,
                },
            )


def _each(source: Source, batch: Batch, entries: Iterator[tuple[str, Any]]) -> None:
    for pointer, entry in entries:
        if not isinstance(entry, dict):
            batch.issue("type_dropped", "expected a run's object; left out", location=pointer)
            continue
        run = runs.run_of(entry, None)
        if run is None:
            batch.issue("no_run_id", "a run without its id; left out", severity="error", location=pointer)
            continue
        runs.one(source, batch, entry, pointer, run)
