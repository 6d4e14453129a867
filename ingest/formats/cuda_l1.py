"""CUDA-L1's published kernels: JSON lines, also under the suffix .json, one problem a line.

Two kinds: a GPU's results (`h100.json`: reference, kernel, speedups against five baselines), and the
code of a baseline alone (`more_baselines/…`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import identity, jsonlines
from kbstats.ingest.format import CONTENT, EXACT, NO, Format, Source
from kbstats.ingest.formats.exec_result import kept, located
from kbstats.ingest.hashing import source_sha256
from kbstats.ingest.lenient import build, known_keys
from kbstats.ingest.metrics import RATIO, positive
from kbstats.ingest.references import draws_shapes
from kbstats.ingest.rows import Metric, Problem, Run

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch

CUDA_L1 = "cuda_l1"
MODEL = "CUDA-L1"
BASELINES = {
    "score_torch_compile_default": "speedup.vs_compile",
    "score_torch_compile_reduce_overhead": "speedup.vs_compile_reduce_overhead",
    "score_cuda_graph": "speedup.vs_cuda_graph",
    "score_cudnn": "speedup.vs_cudnn",
}
"""Speedups beside the one against eager PyTorch, which is `score_default`."""
VARIANTS = {"cuda_graph_code": "cuda_graph", "cudnn_code": "cudnn"}
"""References rewritten as baselines: problems of the same number in a variant of their own."""

_START = re.compile(rb'\s*\{\s*"level_id":\s*"?\d+"?,\s*"task_id":\s*"?\d+"?,\s*"(?P<key>ref_code|code)"')
_GPU = re.compile(
    r"(?:^|[_\-])(?P<gpu>a100|h100|h200|h800|h20|l40s?|b200|rtx[_\-]?\d{4}|\d{4})(?=$|[_\-])", re.IGNORECASE
)


class Record(msgspec.Struct):
    """One line of either kind."""

    level_id: int | None = None
    task_id: int | None = None
    ref_code: str | None = None
    custom_code: str | None = None
    code: str | None = None
    cuda_graph_code: str | None = None
    cudnn_code: str | None = None
    score_default: float | None = None
    score_torch_compile_default: float | None = None
    score_torch_compile_reduce_overhead: float | None = None
    score_cuda_graph: float | None = None
    score_cudnn: float | None = None


class CudaL1(Format):
    """One run a line of results; problems of all lines."""

    name = CUDA_L1
    suffixes = frozenset({".json", ".jsonl", ".ndjson"})

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  the names are those of GPUs
        """By the keys that every line starts with."""
        m = _START.match(head.removeprefix(b"\xef\xbb\xbf"))
        return NO if m is None else EXACT if m["key"] == b"ref_code" else CONTENT

    def read(self, source: Source, batch: Batch) -> None:
        """All lines."""
        stem = source.path.stem
        gpu = m["gpu"].upper() if (m := _GPU.search(stem)) else None
        seen: set[tuple[int, int]] = set()
        for line, document in jsonlines.objects(source.read(), batch):
            r: Record = build(Record, document, located(batch, f"line {line} "))
            if r.level_id is None or r.task_id is None:
                batch.issue(
                    "bad_line", "without level_id and task_id; left out", severity="error", location=f"line {line}"
                )
                continue
            key = (r.level_id, r.task_id)
            if key in seen:
                batch.issue("duplicate_run", "the same problem again; the first is kept", location=f"line {line}")
                continue
            seen.add(key)
            if r.code is not None and "ref_code" not in document:
                variant = next((v for v in VARIANTS.values() if v in stem), stem)
                _problem(source, batch, r, r.code, variant)
                continue
            reference = _problem(source, batch, r, r.ref_code, identity.DEFAULT_VARIANT)
            for column, variant in VARIANTS.items():
                _problem(source, batch, r, getattr(r, column), variant)
            unknown = {k: v for k, v in document.items() if k not in known_keys(Record)}
            _run(source, batch, r, reference=reference, gpu=gpu, unknown=unknown)


FORMAT = CudaL1()


def _problem(source: Source, batch: Batch, r: Record, text: str | None, variant: str) -> str | None:
    """A reference; the sha256 of its text."""
    if not text or not text.strip():
        return None
    sha = source_sha256(text)
    batch.add(
        Problem(
            source_id=source.source_id,
            suite=identity.KERNELBENCH,
            level=r.level_id,
            variant=variant,
            problem_id=r.task_id,
            source_code=text,
            source_sha256=sha,
            draws_shapes=draws_shapes(text),
        )
    )
    return sha


def _run(
    source: Source,
    batch: Batch,
    r: Record,
    *,
    reference: str | None,
    gpu: str | None,
    unknown: dict[str, Any],
) -> None:
    columns: dict[str, Any] = {
        "suite": identity.KERNELBENCH,
        "sweep": source.path.stem,
        "variant": identity.DEFAULT_VARIANT,
        "model_raw": MODEL,
        "level": r.level_id,
        "problem_id": r.task_id,
        "problem_name": None,
        "sample_id": 0,
        "harness": CUDA_L1,
    }
    run_id = identity.run_id(**columns)
    speedup = positive(r.score_default)
    # Only a kernel that passed is published with a score; without a kernel, none passed.
    published = r.custom_code is not None and speedup is not None
    correct = True if published else False if r.custom_code is None and speedup is None else None
    for key, name in BASELINES.items():
        if value := positive(getattr(r, key)):
            batch.add(Metric(run_id=run_id, subject=RATIO, name=name, value=value, unit="ratio", source="table"))
    batch.add(
        Run(
            run_id=run_id,
            source_id=source.source_id,
            format=CUDA_L1,
            **columns,
            model=identity.model_of(MODEL),
            hardware=gpu,
            compiled=True if published else None,
            correct=correct,
            speedup=speedup,
            baseline="eager" if speedup is not None else None,
            submitted_kernel_sha256=batch.kernel(r.custom_code),
            reference_sha256=reference,
            extra=kept({**unknown, "hardware_from": "file name" if gpu else None}) or None,
        )
    )
