"""Paths in, tables filled: the walk, what is unchanged, decoding, one transaction a group of files.

The connection is a writable one whose schema is installed. Nothing here knows where it came from.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.ingest import links, registry, scan, store
from kbstats.ingest.batch import OK, PARTIAL, REJECTED
from kbstats.ingest.decoding import Chunk, Task, decode_many
from kbstats.ingest.errors import UsageError
from kbstats.ingest.hashing import text_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb
    from kbstats.ingest.format import Format
    from kbstats.ingest.store import Known

GROUP_BYTES = 48 << 20
"""Raw bytes decoded before they are written: bounds memory, whatever the corpus."""
GROUP_FILES = 2000
RACY_US = 2_000_000
"""A file changed this shortly before it was read may change again within one tick of its clock."""


@dataclass(frozen=True)
class Progress:
    """How far an ingest is; sizes in bytes."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int


@dataclass
class IngestSummary:
    """What an ingest did."""

    seen: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0
    partial: int = 0
    removed: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    turns: int = 0
    tool_calls: int = 0
    verifications: int = 0
    copies: int = 0
    links: int = 0
    issues: Counter[str] = field(default_factory=Counter)
    bytes_read: int = 0
    seconds: float = 0.0

    @property
    def wrote(self) -> bool:
        """Whether the database differs from before."""
        return bool(self.new or self.changed or self.removed)

    @property
    def incomplete(self) -> bool:
        """Whether some input was rejected or cut short."""
        return bool(self.rejected or self.partial)


class _Plan:
    """What is to be read, and what need not be."""

    def __init__(self, known: dict[str, Known], fmt: Format | None, map_file: Path | None) -> None:
        self.known = known
        self.formats = [fmt] if fmt else None
        self.map_file = map_file
        self.tasks: list[Task] = []
        self.present: set[str] = set()
        self.companions: set[Path] = set()
        self.unclaimed: list[scan.Found] = []

    def take(self, found: scan.Found, summary: IngestSummary) -> None:
        """Decide about one file of the walk."""
        text = scan.path_text(found.path)
        known = self.known.get(text)
        fmt = self._format_of(found, known)
        if fmt is None:
            self.unclaimed.append(found)
            return
        self.present.add(text)
        companions = tuple(_existing(fmt, found.path))
        self.companions.update(companions)
        size, mtime_ns = _stats(found, companions)
        mtime_us = mtime_ns // 1000
        same_stat = known is not None and (known.size, known.mtime_us) == (size, mtime_us)
        if same_stat and known is not None and not known.racy(RACY_US) and not self._forced(known, fmt):
            summary.unchanged += 1
            return
        self.tasks.append(
            Task(
                source_id=text_id(text, n=16),
                path=found.path,
                path_text=text,
                root_text=scan.path_text(found.root),
                format=fmt.name,
                companions=companions,
                size=size,
                mtime_us=mtime_us,
                map_file=self.map_file,
                known=known is not None,
                known_hash=None if known is None or self._forced(known, fmt) else known.content_hash,
            )
        )

    def _forced(self, known: Known, fmt: Format) -> bool:
        return self.map_file is not None or known.format != fmt.name

    def _format_of(self, found: scan.Found, known: Known | None) -> Format | None:
        if self.formats is None and known is not None and known.format in registry.names():
            return registry.load(known.format)
        if self.formats and found.named:
            return self.formats[0]
        try:
            return registry.sniff(found.path, self.formats)
        except OSError:
            return None


def _existing(fmt: Format, path: Path) -> list[Path]:
    try:
        return sorted(fmt.companions(path))
    except Exception:  # noqa: BLE001  a vanished folder, a broken plug-in: the file itself still counts
        return []


def _stats(found: scan.Found, companions: Sequence[Path]) -> tuple[int, int]:
    size, mtime = found.size, found.mtime_ns
    for path in companions:
        with contextlib.suppress(OSError):
            st = path.stat()
            size += st.st_size
            mtime = max(mtime, st.st_mtime_ns)
    return size, mtime


def ingest(
    con: duckdb.DuckDBPyConnection,
    paths: Sequence[Path],
    *,
    format: str | None = None,  # noqa: A002  the name of the option
    map_file: Path | None = None,
    workers: int = 1,
    prune: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> IngestSummary:
    """Read files and folders into the database.

    Args:
        con: A writable connection whose schema is installed.
        paths: Files and folders; folders are walked.
        format: Read with this format only, instead of asking all of them.
        map_file: A column mapping (TOML) for tables; implies the format `table`.
        workers: Processes that decode; 1 decodes in this one.
        prune: Also remove the sources under `paths` whose file is gone.
        progress: Called after every group of files.

    Returns:
        Counts of files, rows and issues.

    Raises:
        UsageError: a path, format or map file that does not exist or does not parse.
    """
    started = time.perf_counter()
    summary = IngestSummary()
    plan = _Plan(store.sources(con), _wanted(format, map_file), map_file)
    blocked: list[scan.Unwalkable] = []
    for found in scan.walk([Path(p) for p in paths], blocked):
        summary.seen += 1
        plan.take(found, summary)
    _unclaimed(con, plan, summary)
    store.folder_issues(con, blocked, summary.issues)
    _read(con, plan.tasks, summary, workers, progress)
    if prune:
        summary.removed = store.prune(con, [scan.absolute(Path(p)) for p in paths], plan.present)
    if summary.wrote:
        _orphans(con)
        store.collect_garbage(con)
        summary.links = links.relink(con)
    summary.seconds = time.perf_counter() - started
    return summary


def _wanted(name: str | None, map_file: Path | None) -> Format | None:
    if map_file is not None:
        from kbstats.ingest.formats.table import TableFormat

        if name not in {None, "table"}:
            raise UsageError(f"a map file is for tables, not for the format {name!r}")
        return TableFormat.with_map(map_file)
    return registry.load(name) if name else None


def _unclaimed(con: duckdb.DuckDBPyConnection, plan: _Plan, summary: IngestSummary) -> None:
    """Count what nobody claims; a file that the user named is an input that was rejected."""
    for found in plan.unclaimed:
        if found.path in plan.companions:
            continue
        if found.named:
            summary.rejected += 1
            summary.issues["unknown_format"] += 1
            store.reject_named(con, found)
        else:
            summary.ignored[found.path.suffix.lower() or "(none)"] += 1


def _groups(tasks: list[Task]) -> Iterator[list[Task]]:
    group: list[Task] = []
    size = 0
    for task in tasks:
        if group and (size + task.size > GROUP_BYTES or len(group) >= GROUP_FILES):
            yield group
            group, size = [], 0
        group.append(task)
        size += task.size
    if group:
        yield group


def _decoded(groups: list[list[Task]], workers: int) -> Iterator[list[Chunk]]:
    """Chunks of each group, in order. Worker processes are spawned: a forked one would hang."""
    if workers <= 1 or len(groups) < 2:
        yield from map(decode_many, groups)
        return
    import multiprocessing
    from concurrent.futures import Future, ProcessPoolExecutor

    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting: list[Future[list[Chunk]]] = []
        for group in groups:  # no more than two groups a worker in flight: memory stays bounded
            waiting.append(pool.submit(decode_many, group))
            if len(waiting) > 2 * workers:
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


def _read(
    con: duckdb.DuckDBPyConnection,
    tasks: list[Task],
    summary: IngestSummary,
    workers: int,
    progress: Callable[[Progress], None] | None,
) -> None:
    groups = list(_groups(tasks))
    if workers > 1 and len(groups) < 2 * workers:
        groups = [g[i::workers] for g in groups for i in range(workers) if g[i::workers]]
    total = sum(t.size for t in tasks)
    files_done = 0
    for chunks in _decoded(groups, workers):
        for chunk in chunks:
            summary.copies += store.write(con, chunk, datetime.now(UTC))
            _count(summary, chunk)
            files_done += len(chunk.files)
        if progress:
            progress(Progress(files_done, len(tasks), summary.bytes_read, total))


def _count(summary: IngestSummary, chunk: Chunk) -> None:
    for result in chunk.files:
        summary.bytes_read += result.task.size
        if result.unchanged:
            summary.unchanged += 1
            continue
        if result.task.known:
            summary.changed += 1
        else:
            summary.new += 1
        summary.rejected += result.status == REJECTED
        summary.partial += result.status == PARTIAL
        summary.runs += result.n_runs
        assert result.status in {OK, PARTIAL, REJECTED}
    for name in ("turns", "tool_calls", "verifications"):
        if name in chunk.tables:
            setattr(summary, name, getattr(summary, name) + chunk.tables[name].num_rows)
    if "ingest_issues" in chunk.tables:
        summary.issues.update(chunk.tables["ingest_issues"]["code"].to_pylist())


def _orphans(con: duckdb.DuckDBPyConnection) -> None:
    """Copies whose run is gone: their sources are read again, so that a copy becomes the run."""
    for path_text, fmt_name in store.orphaned_copies(con):
        path = Path(path_text)
        if not path.is_file() or fmt_name not in registry.names():
            continue
        fmt = registry.load(fmt_name)
        companions = tuple(_existing(fmt, path))
        st = path.stat()
        found = scan.Found(path, path.parent, False, st.st_size, st.st_mtime_ns)
        size, mtime_ns = _stats(found, companions)
        task = Task(
            source_id=text_id(path_text, n=16),
            path=path,
            path_text=path_text,
            known=True,
            root_text=store.root_of(con, path_text),
            format=fmt_name,
            companions=companions,
            size=size,
            mtime_us=mtime_ns // 1000,
        )
        for chunk in decode_many([task]):
            store.write(con, chunk, datetime.now(UTC))
