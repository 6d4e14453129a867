"""Formats by name, and which of them a file belongs to.

All formats come from the entry points of the group `kbstats.formats`, the built-in ones too. A
plug-in that fails to load is one warning line and is left out.
"""

from __future__ import annotations

import functools
import sys
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from kbstats.ingest.errors import UsageError
from kbstats.ingest.format import HEAD_BYTES, Format

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "kbstats.formats"


@functools.cache
def _entries() -> dict[str, EntryPoint]:
    return {e.name: e for e in sorted(entry_points(group=GROUP), key=lambda e: (e.name, e.value))}


def names() -> list[str]:
    """Names of all installed formats, without importing any."""
    return list(_entries())


def _warn(text: str) -> None:
    """One line on stderr: data goes to stdout alone."""
    sys.stderr.write(f"kbstats: {text}\n")


@functools.cache
def _load(name: str) -> Format | None:
    try:
        fmt = _entries()[name].load()
        fmt.name = fmt.name or name
    except Exception as e:  # noqa: BLE001  a plug-in may fail in any way; the others must go on
        text = (str(e).splitlines() or [""])[0][:200]
        _warn(f"format {name} is left out, it does not load ({type(e).__name__}: {text})")
        return None
    return fmt


def load(name: str) -> Format:
    """One format by name; imports that module only.

    Raises:
        UsageError: there is none of this name, or it does not load.
    """
    if name not in _entries():
        raise UsageError(f"no format {name!r}", hint=f"installed: {', '.join(names())}")
    fmt = _load(name)
    if fmt is None:
        raise UsageError(f"the format {name!r} does not load")
    return fmt


def every() -> list[Format]:
    """All formats that load, by name."""
    return [f for f in map(_load, names()) if f is not None]


def head_of(path: Path) -> bytes:
    """The first bytes of a file, as `sniff` sees them.

    Raises:
        OSError: it vanished or cannot be read.
    """
    with path.open("rb") as f:
        return f.read(HEAD_BYTES)


def sniff(path: Path, formats: list[Format] | None = None) -> Format | None:
    """The format a file belongs to: the surest one, on a tie the first by name; None for no one.

    Raises:
        OSError: the file cannot be read.
    """
    suffix = path.suffix.lower()
    asked = [f for f in (formats or every()) if f.suffixes is None or suffix in f.suffixes]
    if not asked:
        return None
    head = head_of(path)
    best: Format | None = None
    best_score = 0
    for fmt in asked:
        try:
            score = int(fmt.sniff(path, head))
        except Exception as e:  # noqa: BLE001  a plug-in may fail in any way
            _warn(f"format {fmt.name} failed to look at {path} ({type(e).__name__})")
            continue
        if score > best_score:
            best, best_score = fmt, score
    return best
