"""One file to one batch, some files to one chunk of Arrow: pure functions, fit for worker processes."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.ingest import archives, folders, hashing, registry
from kbstats.ingest.batch import PARTIAL, REJECTED, Batch, to_arrow
from kbstats.ingest.errors import KbstatsError
from kbstats.ingest.format import Format, Source
from kbstats.ingest.hashing import ContentHash
from kbstats.ingest.scan import path_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

CHUNK_BYTES = 64 << 20
"""Raw bytes in one chunk, beyond which a new one begins: an archive may hold gigabytes."""


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
    members: dict[str, str | None] | None = None
    """Of an archive: paths and content hashes of its members on record."""
    only: str | None = None
    """Of an archive: the one format that its members are read with."""


@dataclass
class FileResult:
    """What became of one file."""

    task: Task
    content_hash: str | None
    status: str
    n_runs: int = 0
    unchanged: bool = False
    gone: list[str] = field(default_factory=list)
    """Source ids of what an archive held when it was read before, and holds no more."""


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
    return list(chunks_of(tasks))


def chunks_of(tasks: list[Task]) -> Iterator[Chunk]:
    """Read some files into chunks, one after the other; an archive's members come in chunks as well."""
    results: list[FileResult] = []
    batches: list[Batch] = []
    keys: set[str] = set()
    size = 0

    def close() -> Iterator[Chunk]:
        nonlocal size
        if results:
            yield _chunk(results[:], batches[:])
        results.clear()
        batches.clear()
        keys.clear()
        size = 0

    for task in tasks:
        for result, batch in opened(task) if task.format == archives.NAME else (decode(task),):
            own = batch.run_ids | batch.keys
            if size > CHUNK_BYTES or not keys.isdisjoint(own):
                yield from close()
            results.append(result)
            batches.append(batch)
            keys |= own
            size += result.task.size
    yield from close()


def opened(task: Task) -> Iterator[tuple[FileResult, Batch]]:
    """An archive's members, each a source of its own, then the archive itself."""
    import tempfile

    own = Batch(task.source_id, task.path_text)
    left = dict(task.members or {})
    digest: str | None = None

    def report(code: str, message: str, member: str) -> None:
        own.issue(code, f"{member[:120]}: {message}" if member else message, severity="error", location=member or None)

    with tempfile.TemporaryDirectory(prefix="kbstats-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        top = archives.inside(task.path, folder)
        try:
            digest = _file_hash(task.path)
            found = dict(archives.unpack(task.path, top, report))
        except OSError as e:
            own.reject("unreadable", f"cannot be read: {e.strerror or e}")
            found, left = {}, {}
        folders.forget()
        for result, batch in _read_members(task, top, found):
            left.pop(result.task.path_text, None)
            yield result, batch
    if any(i.code in {"truncated", "archive_too_large"} for i in own.rows.get("ingest_issues", ())):  # type: ignore[attr-defined]
        own.status = PARTIAL
    own.finish()
    yield FileResult(task, digest, own.status, gone=[hashing.text_id(p, n=16) for p in left]), own


def _read_members(task: Task, top: Path, found: dict[Path, str]) -> Iterator[tuple[FileResult, Batch]]:
    only = [registry.load(task.only)] if task.only else None
    claimed: list[tuple[Path, Format, tuple[Path, ...]]] = []
    taken: set[Path] = set()
    for path in sorted(found):
        fmt = registry.sniff(path, only) if path.is_file() else None
        if fmt is not None:
            companions = tuple(sorted(fmt.companions(path)))
            claimed.append((path, fmt, companions))
            taken.update(companions)
    prefix = task.path_text + archives.INSIDE
    for path, fmt, companions in claimed:
        text = prefix + path_text(path.relative_to(top))
        member = dataclasses.replace(
            task,
            source_id=hashing.text_id(text, n=16),
            path=path,
            path_text=text,
            format=fmt.name,
            companions=companions,
            size=path.stat().st_size + sum(c.stat().st_size for c in companions if c.is_file()),
            known=text in (task.members or {}),
            known_hash=(task.members or {}).get(text),
            members=None,
        )
        result, batch = decode(member)
        for issue in batch.rows.get("ingest_issues", ()):
            issue.path = issue.path.replace(str(top) + os.sep, prefix)  # type: ignore[attr-defined]
        yield result, batch


def _file_hash(path: Path) -> str:
    h = hashing.ContentHash()
    with path.open("rb") as f:
        while block := f.read(1 << 20):
            h.add("", block)
    return h.hexdigest()


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
