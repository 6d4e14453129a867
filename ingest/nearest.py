"""A folder in which no format recognises anything: most likely another one was meant. What lies near it?"""

from __future__ import annotations

import bisect
import os
from collections import Counter, deque
from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.ingest import registry, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

MOST_FILES = 3000
"""Files that are looked at near a folder: a guess must not take longer than the ingest."""
MOST_FOLDERS = 3
"""Folders that are named."""
_TABLES = frozenset({".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".pq"})


def barren(roots: Sequence[Path], present: AbstractSet[str]) -> list[Path]:
    """The folders among `roots` under which no recognised file lies.

    Args:
        roots: What the user named, as absolute paths.
        present: Paths of all files that a format claims.
    """
    paths = sorted(present)
    out = []
    for root in dict.fromkeys(roots):
        start = scan.path_text(root).rstrip("/") + "/"
        at = bisect.bisect_left(paths, start)
        if root.is_dir() and not (at < len(paths) and paths[at].startswith(start)):
            out.append(root)
    return out


def word(root: Path) -> str:
    """One line on such a folder: what is in it, and what is recognised near it."""
    files = list(_files(root, MOST_FILES))
    what = "an empty folder" if not files else f"no format claims any of its {_counted(files)}"
    found = _near(root)
    if found:
        names = "; ".join(f"{scan.shown(folder)} ({_formats(n)})" for folder, n in found)
        step = f"recognised near it: {names}"
    elif any(f.suffix.lower() in _TABLES for f in files):
        step = "--map FILE reads a table"
    elif not files:
        step = "name the folder that holds the runs"
    else:
        step = "--format NAME if you know it; docs/formats.md lists what is read"
    return f"{scan.shown(root)}: {what}; {step}"


def _counted(files: list[Path]) -> str:
    by_suffix = Counter(f.suffix.lower() or "(none)" for f in files)
    kinds = ", ".join(f"{suffix[:20]} {n:,}" for suffix, n in by_suffix.most_common(4))
    more = "+" if len(files) == MOST_FILES else ""
    return f"{len(files):,}{more} {'file' if len(files) == 1 else 'files'} ({kinds})"


def _formats(found: Counter[str]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in found.most_common(3))


def _near(root: Path) -> list[tuple[Path, Counter[str]]]:
    """What is beside a folder and above it and holds recognised files, with counts by format."""
    above = root.parent
    if above == root:
        return []
    found: dict[Path, Counter[str]] = {}
    for path in _files(above, MOST_FILES, but=root):
        try:
            fmt = registry.sniff(path)
        except OSError:
            continue
        if fmt is not None:
            parts = path.relative_to(above).parts
            found.setdefault(above / parts[0] if len(parts) > 1 else above, Counter())[fmt.name] += 1
    return sorted(found.items(), key=lambda item: (-item[1].total(), item[0]))[:MOST_FOLDERS]


def _files(top: Path, most: int, *, but: Path | None = None) -> Iterator[Path]:
    """Regular files under a folder, nearest first; links are not followed."""
    todo: deque[Path] = deque([top])
    n = 0
    while todo:
        try:
            with os.scandir(todo.popleft()) as it:
                entries = sorted(it, key=lambda e: e.name)
        except OSError:
            continue
        for entry in entries:
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if path != but and entry.name not in scan.SKIPPED_FOLDERS and not entry.name.startswith("."):
                    todo.append(path)
            elif entry.is_file(follow_symlinks=False):
                yield path
                n += 1
                if n == most:
                    return
