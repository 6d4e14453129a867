"""One share of the files into a lake. Any number of these run at once; none needs the others."""

from __future__ import annotations

import hashlib
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbstats.ingest import aliases, archives, folders, pipeline, readers, registry, scan
from kbstats.ingest.batch import PARTIAL, REJECTED, Batch, to_arrow
from kbstats.ingest.decoding import Chunk, FileResult, Task
from kbstats.ingest.hashing import text_id
from kbstats.ingest.lake import FILE, GONE, KEPT, SORT_KEYS, SOURCES, WALK, Lake, Part, Shard
from kbstats.ingest.lake_sources import Entry, bare_row, entries, table_of, us_of
from kbstats.ingest.plan import IngestSummary, Plan
from kbstats.ingest.store import RUN_TABLES, UNKNOWN_FORMAT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pyarrow as pa

PART_BYTES = 64 << 20
"""Raw bytes of the files in one part: what a killed process loses at most."""


class _Writer:
    """Gathers chunks and commits them as parts."""

    def __init__(self, lake: Lake, shard: Shard, order: dict[str, int], before: dict[str, Entry]) -> None:
        self.lake, self.shard, self.order, self.before = lake, shard, order, before
        self.chunks: list[Chunk] = []
        self.extra: list[dict[str, Any]] = []
        self.size = 0

    def take(self, chunk: Chunk) -> None:
        """One more chunk; a part is written when enough has gathered."""
        self.chunks.append(chunk)
        self.size += sum(f.task.size for f in chunk.files if archives.INSIDE not in f.task.path_text)
        if self.size >= PART_BYTES:
            self.flush()

    def flush(self) -> Part | None:
        """Write what has gathered as one part."""
        import pyarrow as pa

        if not self.chunks and not self.extra:
            return None
        now = datetime.now(UTC)
        tables: dict[str, list[pa.Table]] = {}
        rows = list(self.extra)
        for chunk in self.chunks:
            counts: dict[str, int] = {}
            for name, table in chunk.tables.items():
                marked = self._marked(name, table, chunk)
                tables.setdefault(name, []).append(marked)
                if name not in {"kernels", "ingest_issues"}:
                    column = "lake_source" if name in RUN_TABLES else "source_id"
                    for pair in marked[column].value_counts().to_pylist():
                        counts[pair["values"]] = counts.get(pair["values"], 0) + pair["counts"]
            kept = self._kept(chunk)
            if kept:
                tables.setdefault("ingest_issues", []).append(_kept_issues(kept))
            rows += [self._row(f, counts.get(f.task.source_id, 0), kept, now) for f in chunk.files]
            rows += [self.gone_row(source_id) for f in chunk.files for source_id in f.gone]
        merged = {name: _sorted(name, pa.concat_tables(found)) for name, found in tables.items()}
        merged[SOURCES] = table_of(rows, now)
        digest = hashlib.sha256("\n".join(sorted(f"{r['source_id']} {r['content_hash']}" for r in rows)).encode())
        name = f"{us_of(now):016d}-{digest.hexdigest()[:12]}"
        made = {"at": now.isoformat(), "bytes_read": self.size, "readers": readers.fingerprint()}
        part = self.lake.commit(self.shard.name, name, merged, made=made)
        self.chunks, self.extra, self.size = [], [], 0
        return part

    def order_of(self, result: FileResult) -> int:
        """Place of a file in the walk, of an archive's member that of the archive."""
        return self.order.get(result.task.path_text.partition(archives.INSIDE)[0], 0)

    def gone_row(self, source_id: str) -> dict[str, Any]:
        """The row that says that a source's rows do not count any more."""
        return bare_row(source_id, self.before[source_id].path, GONE)

    def _kept(self, chunk: Chunk) -> dict[str, tuple[str, Entry]]:
        """Sources whose new version was rejected, while rows of an older one are there: their path and entry."""
        return {
            f.task.source_id: (f.task.path_text, entry)
            for f in chunk.files
            if f.status == REJECTED
            and (entry := self.before.get(f.task.source_id)) is not None
            and entry.kind in {FILE, KEPT}
            and entry.n_rows
        }

    def _row(self, f: FileResult, n_rows: int, kept: dict[str, tuple[str, Entry]], now: datetime) -> dict[str, Any]:
        old = kept[f.task.source_id][1] if f.task.source_id in kept else None
        return {
            "source_id": f.task.source_id,
            "path": f.task.path_text,
            "root": f.task.root_text,
            "format": old.known.format if old else f.task.format,
            "content_hash": f.content_hash,
            "size_bytes": f.task.size,
            "mtime_us": f.task.mtime_us,
            "ingested_us": us_of(now),
            "status": f.status,
            "n_runs": old.n_runs if old else f.n_runs,
            "lake_kind": KEPT if old else FILE,
            "lake_order": self.order_of(f),
            "lake_rows": old.n_rows if old else n_rows,
        }

    def _marked(self, name: str, table: pa.Table, chunk: Chunk) -> pa.Table:
        """Rows of a run with their source, kernels with their place in the walk."""
        import pyarrow as pa

        if name == "kernels":
            first = min(self.order_of(f) for f in chunk.files)
            return table.append_column("lake_order", pa.array([first] * table.num_rows, pa.int64()))
        if name not in RUN_TABLES:
            return table
        runs = chunk.tables.get("runs")
        owner = dict(zip(runs["run_id"].to_pylist(), runs["source_id"].to_pylist(), strict=True)) if runs else {}
        sources = [owner.get(run_id) for run_id in table["run_id"].to_pylist()]
        return table.append_column("lake_source", pa.array(sources, pa.string()))


def _sorted(name: str, table: pa.Table) -> pa.Table:
    """By run, so that a reader of one run skips the row groups of all others."""
    if name in RUN_TABLES:
        keys = [c for c in SORT_KEYS if c in table.column_names]
        return table.sort_by([(c, "ascending") for c in keys])
    return table


def _kept_issues(kept: dict[str, tuple[str, Entry]]) -> pa.Table:
    batches = []
    for source_id, (path, _) in kept.items():
        batch = Batch(source_id, path)
        batch.issue("kept_old_rows", "the file as it is now was rejected; what was read of it before stays")
        batches.append(batch)
    return to_arrow(batches)["ingest_issues"]


def ingest_shard(
    paths: Sequence[Path],
    folder: Path,
    shard: Shard,
    *,
    format: str | None = None,  # noqa: A002  the name of the option
    map_file: Path | None = None,
    workers: int = 1,
    prune: bool = False,
    progress: Callable[[pipeline.Progress], None] | None = None,
) -> IngestSummary:
    """Decode one share of the files under some paths into a lake.

    A file that the lake holds as it is now is skipped, whichever shard wrote it, so the number of
    shards may change and a stopped shard goes on where it was. One that other readers read is read again.

    Args:
        paths: Files and folders, the same for all shards.
        folder: The lake; made when it is missing.
        shard: Which share.
        format: Read with this format only.
        map_file: A column mapping for tables.
        workers: Processes that decode.
        prune: Also drop sources of this share under `paths` whose file is gone.
        progress: Called after every group of files.

    Returns:
        Counts of the files of this share.

    Raises:
        UsageError: a path, format or map file that does not exist, or a folder that is no lake.
        KbstatsError: another process writes this shard.
    """
    started = time.perf_counter()
    summary = IngestSummary()
    folders.forget()
    aliases.aliases()  # a list that cannot be read stops it here
    wanted = pipeline.wanted(format, map_file)
    lake = Lake.make(folder)
    with lake.lock(shard.name):
        lake.sweep(shard.name)
        before = entries(lake, shard)
        on_record = {e.path: e.known for e in before.values() if e.kind in {FILE, KEPT}}
        plan = Plan(on_record, wanted, map_file)
        blocked: list[scan.Unwalkable] = []
        order = _plan(plan, paths, shard, blocked, summary)
        writer = _Writer(lake, shard, order, before)
        roots = [scan.absolute(Path(p)) for p in paths]
        _walk(writer, plan, blocked, roots, summary)
        _drop(writer, plan, roots, summary, prune=prune)
        _before(before, plan, shard, summary)
        _read([_anew(t) for t in plan.tasks], summary, workers, progress, writer)
        writer.flush()
    summary.seconds = time.perf_counter() - started
    return summary


def _plan(
    plan: Plan, paths: Sequence[Path], shard: Shard, blocked: list[scan.Unwalkable], summary: IngestSummary
) -> dict[str, int]:
    """Look at the files of this share, and of all others at the names alone; the places of its own in the walk."""
    order: dict[str, int] = {}
    others: list[scan.Found] = []
    # Where a file that nobody claims was named itself, it must be told whether it belongs to a file of another share,
    # and so must the files of a plug-in that says that its companions are no sources of their own.
    curious = any(not p.is_dir() for p in paths) or registry.plugins_own_companions()
    for n, found in enumerate(scan.walk([Path(p) for p in paths], blocked)):
        text = scan.path_text(found.path)
        if shard.holds(text):
            order[text] = n
            summary.seen += 1
            plan.take(found, summary)
        elif curious:
            others.append(found)
    if others:
        foreign = Plan(plan.known, plan.formats[0] if plan.formats else None, plan.map_file)
        for found in others:
            foreign.take(found, IngestSummary())
        plan.companions |= foreign.companions
        plan.owned |= foreign.owned
    plan.tasks = [t for t in plan.tasks if t.path not in plan.owned]
    return order


def _anew(task: Task) -> Task:
    """The task without what would leave it undecoded: a changed time alone is rare, and rows are cheap."""
    import dataclasses

    members = dict.fromkeys(task.members) if task.members is not None else None
    return dataclasses.replace(task, known_hash=None, members=members)


def _walk(
    writer: _Writer, plan: Plan, blocked: list[scan.Unwalkable], roots: list[Path], summary: IngestSummary
) -> None:
    """What the walk itself found out: places it could not enter, and named files that nobody claims."""
    shard = writer.shard
    issues: list[Batch] = []
    results: list[FileResult] = []
    for place in blocked:
        path = scan.path_text(place.path)
        if shard.holds(path):
            batch = Batch(text_id(path, n=16), path)
            batch.issue(place.code, place.message, severity=place.severity)
            issues.append(batch)
            writer.extra.append(bare_row(batch.source_id, path, WALK))
            summary.issues[place.code] += 1
    standing = {scan.path_text(p.path) for p in blocked}
    for source_id, entry in writer.before.items():
        if entry.kind == WALK and entry.path not in standing and shard.holds(entry.path) and _under(entry.path, roots):
            writer.extra.append(writer.gone_row(source_id))
    for found in plan.unclaimed:
        text = scan.path_text(found.path)
        if not shard.holds(text):
            continue
        if found.path in plan.companions:
            summary.companions += 1
        elif found.named:
            summary.rejected += 1
            plan.present.add(text)
            batch = Batch(text_id(text, n=16), text)
            batch.issue("unknown_format", "no format claims this file; --format names one", severity="error")
            issues.append(batch)
            task = Task(
                source_id=batch.source_id, path=found.path, path_text=text, root_text=scan.path_text(found.root),
                format=UNKNOWN_FORMAT, companions=(), size=found.size, mtime_us=found.mtime_ns // 1000,
            )  # fmt: skip
            results.append(FileResult(task, None, REJECTED))
            summary.advice.append(f"{found.path.name}: no format claims it; --format NAME if you know it")
        else:
            summary.ignored[found.path.suffix.lower() or "(none)"] += 1
    if issues:
        writer.take(Chunk(results, to_arrow(issues)))


def _under(path: str, roots: list[Path]) -> bool:
    return any(Path(path).is_relative_to(scan.path_text(root)) for root in roots)


def _drop(writer: _Writer, plan: Plan, roots: list[Path], summary: IngestSummary, *, prune: bool) -> None:
    """Say of which sources the rows go: another file speaks for them now, or their file is gone."""
    gone = set(plan.superseded)
    if prune:
        gone |= {
            source_id
            for source_id, e in writer.before.items()
            if e.kind in {FILE, KEPT} and e.path not in plan.present
            if not Path(e.path.partition(archives.INSIDE)[0]).exists() and _under(e.path, roots)
        }
    for source_id in sorted(gone & writer.before.keys()):
        if writer.shard.holds(writer.before[source_id].path):
            writer.extra.append(writer.gone_row(source_id))
            summary.removed += 1


def _before(before: dict[str, Entry], plan: Plan, shard: Shard, summary: IngestSummary) -> None:
    """Files of this share that were rejected or cut short when they were read, and have not changed since."""
    again = {t.source_id for t in plan.tasks}
    for source_id, entry in before.items():
        if entry.path in plan.present and shard.holds(entry.path) and source_id not in again:
            summary.rejected_before += entry.status == REJECTED
            summary.partial_before += entry.status == PARTIAL


def _read(
    tasks: list[Task],
    summary: IngestSummary,
    workers: int,
    progress: Callable[[pipeline.Progress], None] | None,
    writer: _Writer,
) -> None:
    groups = list(pipeline.grouped(tasks))
    if workers > 1 and len(groups) < 2 * workers:
        groups = [g[i::workers] for g in groups for i in range(workers) if g[i::workers]]
    total = sum(t.size for t in tasks)
    for chunks in pipeline.decoded(groups, workers):
        for chunk in chunks:
            writer.take(chunk)
            pipeline.tally(summary, chunk)
            if (issues := chunk.tables.get("ingest_issues")) is not None:
                summary.issues.update(issues["code"].to_pylist())
        if progress:
            progress(pipeline.Progress(summary.files_done, len(tasks), summary.bytes_read, total))
