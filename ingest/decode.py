"""JSON as harnesses write it: one fast typed path, and one slow path that reads what others refuse.

msgspec refuses a whole file for a byte order mark, NaN, a number beyond double range, half a
surrogate, a control character or deep nesting, even in fields that nobody asked for. The slow path
reads all of these, and says so, once for each kind.
"""

from __future__ import annotations

import codecs
import functools
import json
import math
import re
from typing import Any

import msgspec
from kbstats.ingest import lenient
from kbstats.ingest.batch import Batch, clean

MAX_DEPTH = 200
"""Objects within objects beyond this are left out: no trace nests so, and parsers recurse."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_NUMBER_REST = re.compile(r"[-+.\deE]{1,30}")
"""What a parser leaves of a number that was cut behind its point or exponent."""
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")


class UnreadableError(Exception):
    """A document that cannot be read as JSON.

    Args:
        code: `truncated`, `empty_file` or `not_json`.
        message: What is wrong.
        location: The byte or character it happened at.
        text: The document as text, for what can be saved of it.
    """

    def __init__(self, code: str, message: str, location: str | None = None, text: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.location, self.text = code, message, location, text


def report_to(batch: Batch, *, run_id: str | None = None) -> lenient.Report:
    """A function that turns the repairs of `lenient` into the batch's issues."""

    def report(code: str, message: str, location: str) -> None:
        batch.issue(code, message, location=location or "/", run_id=run_id)

    return report


@functools.cache
def _decoder(cls: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cls)


def typed(data: bytes, cls: type, batch: Batch) -> tuple[Any, dict[str, Any]]:
    """A document as a struct of `cls`, and the top-level keys which `cls` does not declare.

    `cls` sets `forbid_unknown_fields`, so that the fast path says when there are any.

    Raises:
        UnreadableError: not JSON, or cut short.
    """
    try:
        return _decoder(cls).decode(data), {}
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass  # the slow path below says what is wrong, and reads what can be read
    obj = untyped(data, batch)
    if not isinstance(obj, dict):
        raise UnreadableError("not_json", "the document is no JSON object")
    record = lenient.build(cls, obj, report_to(batch))
    known = lenient.known_keys(cls)
    return record, {k: v for k, v in obj.items() if k not in known}


def untyped(data: bytes, batch: Batch) -> Any:
    """A document as Python objects.

    Raises:
        UnreadableError: not JSON, or cut short.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        return _slow(data, batch)


def _slow(data: bytes, batch: Batch) -> Any:
    text = as_text(data, batch)
    body = text.rstrip("\x00 \t\r\n")
    if not body.strip():
        raise UnreadableError("empty_file", "the file is empty", "byte 0")
    try:
        obj = _parse(body, batch)
    except RecursionError:
        batch.issue("too_deep", f"nested deeper than {MAX_DEPTH} levels; what lies below is left out", location="/")
        obj = _parse(_pruned(body), batch)
    return _sanitised(obj, batch)


def as_text(data: bytes, batch: Batch) -> str:
    """The bytes as text: byte order marks are followed, invalid bytes become U+FFFD; both are issues."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if data.startswith(mark):
            batch.issue("byte_order_mark", f"the file starts with a byte order mark ({encoding})", location="byte 0")
            data = data[3:] if encoding == "utf-8" else data
            break
    else:
        encoding = "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as e:
        if encoding == "utf-8":
            batch.issue("invalid_utf8", "bytes that are not UTF-8; read as U+FFFD", location=f"byte {e.start}")
        return data.decode(encoding, "replace")


def _parse(text: str, batch: Batch) -> Any:
    decoder = json.JSONDecoder(strict=False)
    start = len(text) - len(text.lstrip())
    try:
        obj, end = decoder.raw_decode(text, start)
    except json.JSONDecodeError as e:
        where = f"character {e.pos}"
        if text.lstrip()[:1] in "{[" and _at_end(text, e):
            raise UnreadableError(
                "truncated", f"the file ends in the middle of the document ({e.msg})", where, text
            ) from e
        raise UnreadableError("not_json", f"not JSON: {e.msg}", where, text) from e
    except ValueError as e:  # an integer of more digits than Python converts
        raise UnreadableError("not_json", f"not readable: {str(e)[:120]}", None, text) from e
    if text[end:].strip():
        batch.issue("trailing_data", "text after the end of the document is not read", location=f"character {end}")
    return obj


def _at_end(text: str, e: json.JSONDecodeError) -> bool:
    """Whether a parser stopped because the text did, not because of what it says."""
    rest = text[e.pos :].strip()
    if not rest or e.msg.startswith("Unterminated string"):
        return True
    if e.msg.startswith("Invalid \\"):
        return len(rest) < 8
    if _NUMBER_REST.fullmatch(rest):
        return True
    return len(rest) < 10 and any(word.startswith(rest) for word in _LITERALS)


def _pruned(text: str) -> str:
    """The document with everything below `MAX_DEPTH` replaced by null."""
    parts: list[str] = []
    depth, done, cut_at = 0, 0, -1
    for m in _TOKEN.finditer(text):
        mark = m[0]
        if mark in "[{":
            depth += 1
            if depth == MAX_DEPTH:
                cut_at = m.start()
        elif mark in "]}":
            if depth == MAX_DEPTH and cut_at >= 0:
                parts += (text[done:cut_at], "null")
                done, cut_at = m.end(), -1
            depth -= 1
    return "".join(parts) + (text[done:] if cut_at < 0 else text[done:cut_at])


_REPAIRS = {
    "non_finite": "numbers that are not finite (NaN, Infinity, 1e999) are read as unknown",
    "surrogate": "half surrogates in texts are read as U+FFFD",
    "too_deep": f"nested deeper than {MAX_DEPTH} levels; what lies below is left out",
}


def _repaired(value: Any, pointer: str, seen: dict[str, str]) -> Any:
    """A scalar as a table can hold it; `seen` keeps the first place of each kind of repair."""
    if isinstance(value, float) and not math.isfinite(value):
        seen.setdefault("non_finite", pointer)
        return None
    if isinstance(value, str):
        fixed = clean(value)
        if fixed is not value:
            seen.setdefault("surrogate", pointer)
        return fixed
    return value


def _sanitised(root: Any, batch: Batch) -> Any:
    """Non-finite numbers to None, half surrogates to U+FFFD, in place and without recursion."""
    seen: dict[str, str] = {}
    root = _repaired(root, "/", seen)
    todo: list[tuple[Any, str, int]] = [(root, "", 0)]
    while todo:
        node, pointer, depth = todo.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
        for key, value in list(items):
            at = lenient.point(pointer, key)
            if isinstance(value, (dict, list)):
                if depth >= MAX_DEPTH:
                    seen.setdefault("too_deep", at)
                    node[key] = None
                else:
                    todo.append((value, at, depth + 1))
            else:
                node[key] = _repaired(value, at, seen)
        if isinstance(node, dict):
            for key in [k for k in node if clean(k) is not k]:
                node[clean(key)] = node.pop(key)
    for code, pointer in seen.items():
        batch.issue(code, _REPAIRS[code], location=pointer)
    return root


def whole_entries(text: str) -> dict[str, Any]:
    """The complete members of a JSON object that was cut short, in order."""
    decoder = json.JSONDecoder(strict=False)
    out: dict[str, Any] = {}
    at = text.find("{") + 1
    blank = re.compile(r"[\s,]*")
    try:
        while at:
            at = blank.match(text, at).end()  # type: ignore[union-attr]
            key, at = decoder.raw_decode(text, at)
            at = text.index(":", at) + 1
            at = blank.match(text, at).end()  # type: ignore[union-attr]
            value, at = decoder.raw_decode(text, at)
            if not isinstance(key, str) or (isinstance(value, (int, float)) and at >= len(text)):
                break  # a number at the very end may lack digits
            out[key] = value
    except (ValueError, RecursionError):
        pass
    return out
