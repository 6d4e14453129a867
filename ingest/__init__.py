"""kbstats.ingest: files -> typed records -> tables.

What a format of another package needs, loaded when it is asked for; docs/extending.md uses it:

    Format, Source, EXACT, NAME, CONTENT, SHAPE, NO    what a format is, and how sure it may be
    Batch, and the records Run, Turn, Message, …       what it fills, one record a row of a table
    decode, jsonlines, lenient                         documents and lines, whatever is wrong with them
    identity, hashing                                  ids of runs, names of models, hashes of sources
    metrics, diagnostics, timeouts, utc                numbers, compilers' words, time limits, times
    positive, number                                   a measurement, or None for a sentinel
"""

# No `from __future__ import annotations` here: it would be a name of the package.
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kbstats.ingest import decode, diagnostics, hashing, identity, jsonlines, lenient, metrics, timeouts
    from kbstats.ingest.batch import Batch
    from kbstats.ingest.errors import KbstatsError
    from kbstats.ingest.format import CONTENT, EXACT, NAME, NO, SHAPE, Format, Source
    from kbstats.ingest.metrics import number, positive
    from kbstats.ingest.rows import (
        Annotation,
        Baseline,
        CompileError,
        Message,
        Metric,
        Problem,
        Run,
        Timeout,
        ToolCall,
        Turn,
        Verification,
        VerificationCheck,
        VerificationTiming,
    )
    from kbstats.ingest.times import utc

__all__ = [
    "CONTENT",
    "EXACT",
    "NAME",
    "NO",
    "SHAPE",
    "Annotation",
    "Baseline",
    "Batch",
    "CompileError",
    "Format",
    "KbstatsError",
    "Message",
    "Metric",
    "Problem",
    "Run",
    "Source",
    "Timeout",
    "ToolCall",
    "Turn",
    "Verification",
    "VerificationCheck",
    "VerificationTiming",
    "decode",
    "diagnostics",
    "hashing",
    "identity",
    "jsonlines",
    "lenient",
    "metrics",
    "number",
    "positive",
    "timeouts",
    "utc",
]
_FROM = {
    "batch": {"Batch"},
    "errors": {"KbstatsError"},
    "format": {"CONTENT", "EXACT", "NAME", "NO", "SHAPE", "Format", "Source"},
    "metrics": {"number", "positive"},
    "times": {"utc"},
}
_MODULES = {"decode", "diagnostics", "hashing", "identity", "jsonlines", "lenient", "metrics", "timeouts"}


def __getattr__(name: str) -> Any:
    """Load a public name when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    home = next((module for module, names in _FROM.items() if name in names), "rows")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)


def __dir__() -> list[str]:
    """What there is, for completion."""
    return sorted({*globals(), *__all__})
