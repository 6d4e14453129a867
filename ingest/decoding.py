"""One file to one batch, some files to one chunk of Arrow: pure functions, fit for worker processes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kbstats.ingest import registry
from kbstats.ingest.batch import REJECTED, Batch, to_arrow
from kbstats.ingest.errors import KbstatsError
from kbstats.ingest.format import Format, Source
from kbstats.ingest.hashing import ContentHash

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa


@dataclass(frozen=True)
class Task:
    """A file to decode, and the format that claimed it."""

    source_id: str
    path: Path
    path_text: str
    root_text: str
    format: str
    companions: tuple[Path, ...]
    size: int
    mtime_us: int
    map_file: Path | None = None
    known: bool = False
    """The source is on record already."""
    known_hash: str | None = None
    """Content hash on record: the same content is not decoded again."""


@dataclass
class FileResult:
    """What became of one file."""

    task: Task
    content_hash: str | None
    status: str
    n_runs: int = 0
    unchanged: bool = False


@dataclass
class Chunk:
    """Several files' records; no run stands in it twice."""

    files: list[FileResult] = field(default_factory=list)
    tables: dict[str, pa.Table] = field(default_factory=dict)


def _format(task: Task) -> Format:
    if task.map_file is not None:
        from kbstats.ingest.formats.table import TableFormat

        return TableFormat.with_map(task.map_file)
    return registry.load(task.format)


def content_hash(source: Source) -> str:
    """The xxh3_128 of the file and its companions, names included.

    Raises:
        OSError: the file cannot be read. A companion that vanished counts as empty.
    """
    h = ContentHash()
    h.add("", source.read())
    for path in source.companions:
        try:
            h.add(path.name, source.read(path))
        except OSError:
            h.add(path.name, b"")
    return h.hexdigest()


def decode(task: Task) -> tuple[FileResult, Batch]:
    """Read one file. Whatever goes wrong is in the batch's issues, never an exception."""
    batch = Batch(task.source_id, task.path_text)
    source = Source(task.path, task.source_id, task.companions)
    digest: str | None = None
    try:
        digest = content_hash(source)
        if digest == task.known_hash:
            return FileResult(task, digest, "ok", unchanged=True), batch
        _format(task).read(source, batch)
    except OSError as e:
        batch.reject("unreadable", f"cannot be read: {e.strerror or e}")
    except KbstatsError as e:
        batch.reject("unreadable", e.message, location=e.location)
    except Exception as e:
        if os.environ.get("KBSTATS_DEBUG"):
            raise
        text = (str(e).splitlines() or [""])[0][:200]
        batch.reject(
            "internal_error", f"the format {task.format} failed on this file ({type(e).__name__}: {text})"
        )
    batch.finish()
    return FileResult(task, digest, batch.status, len(batch.run_ids)), batch


def decode_many(tasks: list[Task]) -> list[Chunk]:
    """Read some files into chunks; a new chunk begins where an id of the current one comes again."""
    chunks: list[Chunk] = []
    results: list[FileResult] = []
    batches: list[Batch] = []
    keys: set[str] = set()

    def close() -> None:
        if results:
            chunks.append(_chunk(results[:], batches[:]))
        results.clear()
        batches.clear()
        keys.clear()

    for task in tasks:
        result, batch = decode(task)
        own = batch.run_ids | batch.keys
        if not keys.isdisjoint(own):
            close()
        results.append(result)
        batches.append(batch)
        keys |= own
    close()
    return chunks


def _chunk(results: list[FileResult], batches: list[Batch]) -> Chunk:
    try:
        return Chunk(results, to_arrow(batches))
    except Exception:  # noqa: BLE001  a value of the wrong type: find the file and reject it alone
        for result, batch in zip(results, batches, strict=True):
            try:
                to_arrow([batch])
            except Exception as e:  # noqa: BLE001
                text = (str(e).splitlines() or [""])[0][:200]
                batch.reject(
                    "internal_error", f"a value does not fit its column ({type(e).__name__}: {text})"
                )
                result.status, result.n_runs = REJECTED, 0
        return Chunk(results, to_arrow(batches))
