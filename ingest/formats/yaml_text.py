"""YAML as harnesses and people write it, read into what JSON can hold."""

from __future__ import annotations

import math
from datetime import date, datetime
from typing import Any

from kbstats.ingest.batch import Batch, clean
from kbstats.ingest.decode import UnreadableError, as_text

MAX_DEPTH = 50
MAX_NODES = 200_000
"""Aliases unfold: a few lines can name billions of values. What lies beyond is left out."""


def document(data: bytes, batch: Batch) -> Any:
    """One YAML document as dicts with text keys, lists, texts, numbers, booleans and None.

    Dates become ISO texts, numbers that are not finite None; no tag builds an object.

    Raises:
        UnreadableError: not YAML, or empty.
    """
    import yaml

    text = as_text(data, batch).rstrip("\x00")
    if not text.strip():
        raise UnreadableError("empty_file", "the file is empty", "byte 0")
    try:
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506  a safe loader
    except yaml.YAMLError as e:
        mark = getattr(e, "problem_mark", None)
        where = None if mark is None else f"line {mark.line + 1}"
        said = getattr(e, "problem", None) or (str(e).splitlines() or [""])[0]
        raise UnreadableError("not_yaml", f"not YAML: {str(said)[:200]}", where, text) from e
    except (RecursionError, ValueError, TypeError, OverflowError, AttributeError) as e:
        raise UnreadableError("not_yaml", f"not readable as YAML ({type(e).__name__})", None, text) from e
    plain = _Plain()
    out = plain.value(found, 0)
    if plain.cut:
        batch.issue("too_deep", "nested too deep or unfolding to too much; what lies beyond is left out", location="/")
    return out


class _Plain:
    """Copies a document; counts what it copies."""

    def __init__(self) -> None:
        self.nodes = 0
        self.cut = False

    def value(self, value: Any, depth: int) -> Any:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            self.cut = True
            return None
        if isinstance(value, dict):
            return {clean(str(k)): self.value(v, depth + 1) for k, v in value.items() if self.nodes <= MAX_NODES}
        if isinstance(value, (list, tuple, set)):
            return [self.value(v, depth + 1) for v in value if self.nodes <= MAX_NODES]
        return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, (datetime, date)):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    return clean(str(value))
