"""Formats by name, and which of them a file belongs to.

All formats come from the entry points of the group `kbstats.formats`, the built-in ones too. A
plug-in that fails to load is one warning line and is left out.
"""

from __future__ import annotations

import functools
import re
import sys
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from kbstats.ingest.errors import UsageError
from kbstats.ingest.format import EXACT, HEAD_BYTES, Format

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "kbstats.formats"

_SUFFIXES: dict[str, str] = {
    "annotation": ".jsonl .ndjson",
    "atif": ".json",
    "claude_code": ".jsonl .ndjson",
    "codex": ".jsonl .ndjson",
    "cuda_l1": ".json .jsonl .ndjson",
    "flashinfer_bench": ".json .jsonl .ndjson",
    "gemini": ".jsonl .ndjson",
    "inspect_ai": ".eval .json",
    "kbstats_export": ".json",
    "kernelbench": ".json",
    "kernelbench_agentic": ".json",
    "kernelbench_com": ".json .yaml .yml",
    "kernelbench_kernels": ".cpp .cu .py",
    "kernelbench_leaderboard": ".json",
    "kernelbench_v3": ".yaml .yml",
    "opencode": ".jsonl .ndjson",
    "popcornbench": ".json",
    "popcornbench_page": ".htm .html",
    "popcornbench_summary": ".json",
    "problems": ".py",
    "ralph": ".json .jsonl",
    "robust_kbench": ".csv",
    "table": ".csv .jsonl .ndjson .parquet .pq .tsv",
    "verification": ".json .jsonl .ndjson",
}
"""Suffixes of the built-in formats, known without importing them: most folders need a few of them.

tests/ingest/test_registry.py holds this against the formats themselves."""

_OWN_NAMES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"level_\d+_problem_\d+_trajectory\.json"), "popcornbench"),
    (re.compile(r"(?:agent_)?eval_results\.json"), "kernelbench"),
)
"""File names that are one format's own: if it is sure, no other one is imported to be asked."""
_PATTERNS: dict[str, re.Pattern[str]] = {
    "kernelbench_kernels": re.compile(r".*level_\d+_problem_\d+_sample_\d+_kernel\.(?:py|cu|cpp)", re.DOTALL),
    "problems": re.compile(r"(?:.*/)?level\d{1,4}/(?:[^/]+/)?\d{1,9}_[^/]+\.py", re.DOTALL),
}
"""What a path must look like, beside its suffix, for a format to be imported at all."""


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


def loaded(name: str) -> Format | None:
    """One format by name; None, after one line on stderr, where it is not installed or does not load."""
    return _load(name) if name in _entries() else None


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
    if formats is None:
        if (found := _own(path)) is not None:
            return found
        formats = _worth_loading(path)
    suffix = path.suffix.lower()
    asked = [f for f in formats if _may_claim(f, path, suffix)]
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


def may_claim(path: Path, formats: list[Format] | None = None) -> bool:
    """Whether a format would look at a file of this name."""
    suffix = path.suffix.lower()
    return any(_may_claim(f, path, suffix) for f in (_worth_loading(path) if formats is None else formats))


def _own(path: Path) -> Format | None:
    """The format whose own name the file has, if that format is sure of it."""
    for pattern, name in _OWN_NAMES:
        if pattern.fullmatch(path.name) and (fmt := _load(name)) is not None:
            return fmt if fmt.sniff(path, head_of(path)) >= EXACT else None
    return None


def _worth_loading(path: Path) -> list[Format]:
    """The formats that may claim a file, by what is known of the built-in ones without importing them."""
    suffix = path.suffix.lower()
    text = str(path)
    wanted = []
    for name in names():
        if (own := _SUFFIXES.get(name)) is not None and is_built_in(name):
            if suffix not in own.split():
                continue
            if (pattern := _PATTERNS.get(name)) is not None and not pattern.fullmatch(text):
                continue
        wanted.append(name)
    return [f for f in map(_load, wanted) if f is not None]


def is_built_in(name: str) -> bool:
    """Whether a format is one of kbstats' own, and not a plug-in of the same name."""
    return _entries()[name].value == f"kbstats.ingest.formats.{name}:FORMAT"


def plugins_own_companions() -> bool:
    """Whether a format from outside may own files that kbstats cannot name."""
    outside = [_load(name) for name in names() if not is_built_in(name)]
    return any(getattr(fmt, "owns_companions", False) for fmt in outside)


def version_of(name: str) -> str:
    """Where a format comes from, and in which version: it changes when a plug-in does."""
    entry = _entries()[name]
    return f"{name}={entry.value}@{entry.dist.version if entry.dist else ''}"


def _may_claim(fmt: Format, path: Path, suffix: str) -> bool:
    """Whether a format is worth asking: decided by the name, so that other files are never opened."""
    if fmt.suffixes is not None and suffix not in fmt.suffixes:
        return False
    pattern = getattr(fmt, "pattern", None)  # a plug-in may be any object
    return pattern is None or bool(pattern.fullmatch(path.name) or pattern.fullmatch(str(path)))
