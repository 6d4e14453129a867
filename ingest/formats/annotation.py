"""What people say of runs and kernels: JSON lines whose `schema` is `kbstats.annotation/1`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.ingest import jsonlines
from kbstats.ingest.format import EXACT, NO, Format, Source
from kbstats.ingest.rows import Annotation

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch

SCHEMA = "kbstats.annotation/1"
_TEXTS = ("run_id", "kernel_sha256", "verdict", "text", "author")


class AnnotationFormat(Format):
    """One statement a line, as `kbstats annotate` writes them. A line that cannot be read is an issue."""

    name = "annotation"
    suffixes = frozenset({".jsonl", ".ndjson"})

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  the name says nothing
        """By the schema's name in the first line."""
        return EXACT if b'"kbstats.annotation/' in head.split(b"\n", 1)[0] else NO

    def read(self, source: Source, batch: Batch) -> None:
        """All statements of the file."""
        for where, document in jsonlines.of_schema(source.read(), batch, SCHEMA):
            values = {k: v for k in _TEXTS if isinstance(v := document.get(k), str) and v.strip()}
            if not ({"run_id", "kernel_sha256"} & values.keys() and {"verdict", "text"} & values.keys()):
                batch.issue(
                    "bad_line",
                    "without a run or a kernel, or without a verdict or a text; left out",
                    severity="error",
                    location=where,
                )
                continue
            if isinstance(finding := document.get("finding"), str) and finding:
                values["text"] = f"{finding}: {values.get('text', '')}".rstrip(": ")
            batch.add(Annotation(source_id=source.source_id, **values))


FORMAT = AnnotationFormat()
