"""Paths in, tables filled: the walk, what is unchanged, decoding, one transaction a group of files.

The connection is a writable one whose schema is installed. Nothing here knows where it came from.
"""

from __future__ import annotations

import gc
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.ingest import (
    aliases,
    archives,
    changes,
    copies,
    folders,
    links,
    nearest,
    readers,
    registry,
    scan,
    standing,
    store,
)
from kbstats.ingest.batch import OK, PARTIAL, REJECTED
from kbstats.ingest.behind import Behind, Commits, uncollected
from kbstats.ingest.decoding import Chunk, Task, chunks_of, decode_many
from kbstats.ingest.errors import UsageError
from kbstats.ingest.hashing import text_id
from kbstats.ingest.issue_codes import STEPS
from kbstats.ingest.plan import IngestSummary, Plan, existing, stats

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import duckdb
    from kbstats.ingest.format import Format

GROUP_BYTES = 64 << 20
"""Raw bytes decoded before they are written: bounds memory, whatever the corpus."""
GROUP_FILES = 2000
MOST_NAMED = 5
"""Damaged files that a summary names; `kbstats doctor` names all."""


@dataclass(frozen=True)
class Progress:
    """How far an ingest is; sizes in bytes."""

    files_done: int
    files_total: int
    bytes_done: int
    bytes_total: int


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
    folders.forget()
    changes.begin(con)
    readers.check(con)
    renamed = aliases.apply(con)
    again = {path for path, _ in store.orphaned_copies(con)}
    plan = Plan(store.sources(con), wanted(format, map_file), map_file, again)
    roots = [scan.absolute(Path(p)) for p in paths]
    blocked: list[scan.Unwalkable] = []
    for found in scan.walk([Path(p) for p in paths], blocked):
        summary.seen += 1
        plan.take(found, summary)
    if plan.owned:
        n = len(plan.tasks)
        plan.tasks = [t for t in plan.tasks if t.path not in plan.owned]
        summary.companions += n - len(plan.tasks)
    _unclaimed(con, plan, summary)
    standing.walk_issues(con, blocked, roots)
    if plan.superseded:
        with store.transaction(con):
            store.mark_stale(con)
            store.delete_sources(con, plan.superseded)
        summary.removed = len(plan.superseded)
    _read(con, plan.tasks, summary, workers, progress)
    if prune:
        summary.removed += store.prune(con, roots, plan.present)
    if summary.wrote or renamed:
        # nothing is left over where nothing was replaced
        before = store.count(con, "run_links")
        summary.links = settle(con, leftovers=bool(summary.changed or summary.removed))
        summary.new_links = summary.links != before
    _standing(con, plan, blocked, roots, summary)
    summary.seconds = time.perf_counter() - started
    return summary


def settle(con: duckdb.DuckDBPyConnection, *, leftovers: bool = True) -> int:
    """Bring up to date what rows of several sources decide together; how many links there are.

    Args:
        con: The writable connection.
        leftovers: Also look for copies whose run is gone, and for kernels that nothing mentions.
    """
    if leftovers:
        _orphans(con)
        store.collect_garbage(con)
    copies.adopt(con)
    return links.relink(con)


def wanted(name: str | None, map_file: Path | None) -> Format | None:
    """The one format that the options name, None for all of them.

    Raises:
        UsageError: there is none of this name, or the map file does not parse.
    """
    if map_file is not None:
        from kbstats.ingest.formats.table import TableFormat

        if name not in {None, "table"}:
            raise UsageError(f"a map file is for tables, not for the format {name!r}")
        return TableFormat.with_map(map_file)
    return registry.load(name) if name else None


def _unclaimed(con: duckdb.DuckDBPyConnection, plan: Plan, summary: IngestSummary) -> None:
    """Count what nobody claims; a file that the user named, or that cannot be read, is an input that was rejected."""
    for found in plan.unclaimed:
        if found.path in plan.companions:
            summary.companions += 1
            continue
        if found.named or found.path in plan.unreadable:
            summary.rejected += 1
            plan.present.add(scan.path_text(found.path))
            store.reject(con, found, plan.unreadable.get(found.path))
        else:
            summary.ignored[found.path.suffix.lower() or "(none)"] += 1


def _standing(
    con: duckdb.DuckDBPyConnection,
    plan: Plan,
    blocked: list[scan.Unwalkable],
    roots: list[Path],
    summary: IngestSummary,
) -> None:
    """What stands against the files of this walk, whenever they were read."""
    rejected, partial, issues = standing.counts(con, plan.present)
    summary.rejected_before = max(0, rejected - summary.rejected)
    summary.partial_before = max(0, partial - summary.partial)
    summary.issues.update(issues)
    summary.issues.update(b.code for b in blocked)
    summary.blocked = [
        f"{scan.shown(b.path)}: {b.message}; {STEPS[b.code]}" for b in blocked if b.severity == "error"
    ]
    if summary.n_damaged:
        summary.damaged = standing.damaged(con, plan.present, MOST_NAMED)
    # where the last file of a folder was removed on purpose, nothing is left to be recognised
    if not summary.removed and (found := nearest.barren(roots, plan.present)):
        summary.barren = [nearest.word(root) for root in found]


def grouped(tasks: list[Task]) -> Iterator[list[Task]]:
    """Tasks in groups of at most `GROUP_BYTES` and `GROUP_FILES`."""
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


def decoded(groups: list[list[Task]], workers: int) -> Iterator[list[Chunk]]:
    """Chunks of each group, in order. Worker processes are spawned: a forked one would hang."""
    if workers <= 1 or len(groups) < 2:
        for group in groups:
            for chunk in chunks_of(group):
                yield [chunk]
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
    groups = list(grouped(tasks))
    if workers > 1 and len(groups) < 2 * workers:
        groups = [g[i::workers] for g in groups for i in range(workers) if g[i::workers]]
    total = sum(t.size for t in tasks)
    with Commits(con) as commits, uncollected():

        def write(chunks: list[Chunk]) -> None:
            for chunk in chunks:
                before = summary.bytes_read
                with commits.step():
                    summary.copies += store.put(con, chunk, datetime.now(UTC))
                tally(summary, chunk)
                commits.done(summary.bytes_read - before)
                gc.collect(1)
            if progress:
                progress(Progress(summary.files_done, len(tasks), summary.bytes_read, total))

        if total < GROUP_BYTES // 8:
            for chunks in decoded(groups, workers):
                write(chunks)
            return
        # the database works outside Python's lock: one group is written while the next is decoded
        with Behind(write) as writer:
            for chunks in decoded(groups, workers):
                writer.put(chunks)


def tally(summary: IngestSummary, chunk: Chunk) -> None:
    """Add what a chunk holds to the summary."""
    for result in chunk.files:
        if archives.INSIDE not in result.task.path_text:  # progress counts what the walk found
            summary.bytes_read += result.task.size
            summary.files_done += 1
        summary.removed += len(result.gone)
        if result.task.format == archives.NAME and result.status == OK:
            continue
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


def _orphans(con: duckdb.DuckDBPyConnection) -> None:
    """Copies whose run is gone: their sources are read again, so that a copy becomes the run."""
    for path_text, fmt_name in store.orphaned_copies(con):
        path = Path(path_text)
        if archives.INSIDE in path_text:
            _orphan_inside(con, *path_text.split(archives.INSIDE, 1)[:1])
            continue
        if not path.is_file() or (fmt := registry.loaded(fmt_name)) is None:
            continue
        companions = tuple(existing(fmt, path))
        st = path.stat()
        found = scan.Found(path, path.parent, False, st.st_size, st.st_mtime_ns)
        size, mtime_ns = stats(found, companions)
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


def _orphan_inside(con: duckdb.DuckDBPyConnection, archive: str) -> None:
    """The same where the copy lies in an archive, which is then read again."""
    path = Path(archive)
    if not path.is_file():
        return
    known = [p for p in store.sources(con) if p.startswith(archive + archives.INSIDE)]
    st = path.stat()
    task = Task(
        source_id=text_id(archive, n=16),
        path=path,
        path_text=archive,
        root_text=store.root_of(con, archive),
        format=archives.NAME,
        companions=(),
        size=st.st_size,
        mtime_us=st.st_mtime_ns // 1000,
        known=True,
        members=dict.fromkeys(known),
    )
    for chunk in chunks_of([task]):
        store.write(con, chunk, datetime.now(UTC))
