"""What a folder holds, listed once an ingest instead of asked file by file."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")
_forgets: list[Callable[[], None]] = []


def remember(ask: Callable[[Path], T]) -> Callable[[Path], T]:
    """Keep the answers of a function of a folder until `forget`."""
    kept = functools.lru_cache(maxsize=4096)(ask)
    _forgets.append(kept.cache_clear)
    return kept


@functools.lru_cache(maxsize=4096)
def _names(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder))  # noqa: PTH208  names alone
    except OSError:
        return frozenset()


def has(path: Path) -> bool:
    """Whether there is a file of this name: a link that leads nowhere and a folder are none."""
    return path.name in _names(str(path.parent)) and path.is_file()


def names(folder: Path) -> frozenset[str]:
    """Names of everything in a folder; none where it cannot be listed."""
    return _names(str(folder))


def listed(folder: str) -> frozenset[str]:
    """The same of a folder given as text."""
    return _names(folder)


def forget() -> None:
    """Look again: an ingest begins."""
    _names.cache_clear()
    for clear in _forgets:
        clear()
