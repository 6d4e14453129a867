"""The walk: which files are there under the paths of the command line."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from kbstats.ingest.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SKIPPED_FOLDERS = frozenset({".git", "__pycache__", "node_modules", ".venv"})
"""Never entered: no harness writes results there."""


class Found(NamedTuple):
    """One file of the walk."""

    path: Path
    root: Path
    named: bool
    """The user named the file itself, not a folder above it."""
    size: int
    mtime_ns: int


class Unwalkable(NamedTuple):
    """A folder that could not be entered, or a link that leads out of what was asked for."""

    path: Path
    reason: str
    code: str = "unreadable_folder"

    @property
    def severity(self) -> str:
        """A link that leads out is followed all the same."""
        return "warning" if self.code == "outside_link" else "error"

    @property
    def message(self) -> str:
        """One sentence."""
        if self.code == "outside_link":
            return f"the link leads out of the folders given, to {self.reason}; what is there is read"
        return f"the folder cannot be entered: {self.reason}"


def path_text(path: Path) -> str:
    r"""A path as text that every database takes: bytes that are no UTF-8 become `\\xNN`."""
    return str(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def shown(path: Path | str) -> str:
    """A path as a user reads it: from the working folder on, where that is no detour."""
    try:
        relative = os.path.relpath(path)
    except (OSError, ValueError):  # the working folder is gone
        relative = str(path)
    text = relative if len(relative) <= len(str(path)) else str(path)
    return path_text(Path(text))


def absolute(path: Path) -> Path:
    """The absolute path, without following links: the key of a source."""
    return Path(os.path.abspath(path))  # noqa: PTH100  resolve() would follow links


def walk(paths: Sequence[Path], problems: list[Unwalkable]) -> Iterator[Found]:
    """All regular files under the paths, in a stable order, each once.

    Linked files and folders come last, so that of two names of one file the real one is kept; a
    folder that a link leads back to is not entered again. Files that vanish meanwhile are left out.

    Args:
        paths: Files and folders as the user gave them.
        problems: Takes the folders that cannot be entered, and the links that lead out.

    Raises:
        UsageError: a path does not exist.
    """
    for path in paths:
        if not os.path.lexists(path):
            raise UsageError("no such file or folder", location=path)
    seen: set[tuple[int, int]] = set()
    linked: deque[tuple[Path, Path]] = deque()
    for given in paths:
        root = absolute(given)
        if root.is_dir():
            yield from _folder(root, root, seen, linked, problems)
        elif (found := _file(root, root.parent, seen, named=True)) is not None:
            yield found
    tops = [_real(p) for p in paths]
    while linked:
        path, root = linked.popleft()
        try:
            is_dir = path.is_dir()
            problems += _outside(path, tops)
        except OSError:
            continue
        if is_dir:
            yield from _folder(path, root, seen, linked, problems)
        elif (found := _file(path, root, seen)) is not None:
            yield found


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _outside(path: Path, tops: list[Path]) -> list[Unwalkable]:
    """A link to something that is there, under none of the paths given."""
    to = _real(path)
    if not path.exists() or any(to.is_relative_to(top) for top in tops):
        return []
    return [Unwalkable(path, path_text(to), "outside_link")]


def _file(path: Path, root: Path, seen: set[tuple[int, int]], *, named: bool = False) -> Found | None:
    try:
        st = path.stat()
    except OSError:  # it vanished, or a link leads nowhere
        return None
    key = (st.st_dev, st.st_ino)
    if key in seen or not os.path.isfile(path):  # noqa: PTH113  sockets and pipes are no files
        return None
    seen.add(key)
    return Found(path, root, named, st.st_size, st.st_mtime_ns)


def _folder(
    top: Path,
    root: Path,
    seen: set[tuple[int, int]],
    linked: deque[tuple[Path, Path]],
    problems: list[Unwalkable],
) -> Iterator[Found]:
    todo = [top]
    while todo:
        folder = todo.pop()
        try:
            st = folder.stat()
            if (st.st_dev, st.st_ino) in seen:
                continue
            seen.add((st.st_dev, st.st_ino))
            with os.scandir(folder) as it:
                entries = sorted(it, key=lambda e: e.name)
        except OSError as e:
            problems.append(Unwalkable(folder, e.strerror or str(e)))
            continue
        below: list[Path] = []
        for entry in entries:
            path = folder / entry.name
            if entry.is_symlink():
                linked.append((path, root))
            elif entry.is_dir(follow_symlinks=False):
                if entry.name not in SKIPPED_FOLDERS:
                    below.append(path)
            elif (found := _file(path, root, seen)) is not None:
                yield found
        todo.extend(reversed(below))
