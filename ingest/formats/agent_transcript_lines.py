"""Lines of an agent's transcript: typed records one at a time, and what is no record told apart.

Such a file is a program's standard output as often as a log: a container's banner stands before the
first event, and a killed process leaves half a line at the end.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from kbstats.ingest import decode, lenient

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator

    from kbstats.ingest.batch import Batch

MAX_LINE_BYTES = 64 << 20
"""A longer line is left out: no event is so large, and it would be held several times over."""

R = TypeVar("R")


@functools.cache
def _decoder(cls: Hashable) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(cls)


def records(data: bytes, cls: type[R], batch: Batch) -> Iterator[tuple[int, R]]:
    """(line number from 1, record) of every line that holds an object.

    Lines are cut out one by one, so that no second copy of the file is made. Lines that are no JSON
    are counted in one issue. A last line that was cut short makes the file `partial`.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        batch.issue("byte_order_mark", "the file starts with a byte order mark (utf-8)", location="byte 0")
    n_other, first_other, n_read = 0, 0, 0
    for number, line, last in _lines(data):
        body = line.strip(b" \t\r\x00\xef\xbb\xbf") if number == 1 else line.strip(b" \t\r\x00")
        if not body:
            continue
        if not body.startswith(b"{"):
            n_other += 1
            first_other = first_other or number
            continue
        if len(body) > MAX_LINE_BYTES:
            batch.issue("line_too_long", f"a line of {len(body)} bytes is left out", severity="error",
                        location=f"line {number}")
            continue
        record = _record(body, cls, batch, number, last=last)
        if record is not None:
            n_read += 1
            yield number, record
    if n_other:
        message = f"{n_other} lines hold no JSON object (a banner, a program's own output); left out"
        batch.issue("not_json_lines", message, location=f"line {first_other}")
    if not n_read and not data.strip():
        batch.partial("empty_file", "the file is empty", location="byte 0")


def _lines(data: bytes) -> Iterator[tuple[int, bytes, bool]]:
    at, number, size = 0, 0, len(data)
    while at < size:
        end = data.find(b"\n", at)
        number += 1
        yield number, data[at : end if end >= 0 else size], end < 0
        at = end + 1 if end >= 0 else size


def _record(body: bytes, cls: type[R], batch: Batch, number: int, *, last: bool) -> R | None:
    where = f"line {number}"
    try:
        return _decoder(cls).decode(body)  # type: ignore[arg-type]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass  # the slow path below says what is wrong, and reads what can be read
    try:
        document = decode.untyped(body, batch)
    except decode.UnreadableError as e:
        if last and e.code == "truncated":
            batch.partial("truncated", "the last line is cut short", location=where)
        else:
            batch.issue("bad_line", f"the line is left out: {e.message}", severity="error", location=where)
        return None

    def report(code: str, message: str, location: str) -> None:
        batch.issue(code, message, location=f"{where} {location}")

    return lenient.build(cls, document, report) if isinstance(document, dict) else None

