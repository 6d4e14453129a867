"""JSON lines: one document a line, a broken line is an issue and the others stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.ingest import decode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbstats.ingest.batch import Batch


def objects(data: bytes, batch: Batch) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number from 1, object) of every line that holds one.

    A last line without its line end that does not parse was cut short: the file is `partial`, and
    is read again when it has grown.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        batch.issue("byte_order_mark", "the file starts with a byte order mark (utf-8)", location="byte 0")
        data = data[3:]
    lines = data.split(b"\n")
    n_read = 0
    for number, line in enumerate(lines, 1):
        if not line.strip(b" \t\r\x00"):
            continue
        try:
            document = decode.untyped(line, batch)
        except decode.UnreadableError as e:
            if number == len(lines) and e.code == "truncated":
                batch.partial("truncated", "the last line is cut short", location=f"line {number}")
            else:
                batch.issue(
                    "bad_line",
                    f"the line is left out: {e.message}",
                    severity="error",
                    location=f"line {number}",
                )
            continue
        if isinstance(document, dict):
            n_read += 1
            yield number, document
        else:
            batch.issue(
                "bad_line",
                "the line holds no JSON object; left out",
                severity="error",
                location=f"line {number}",
            )
    if not n_read and not data.strip():
        batch.partial("empty_file", "the file is empty", location="byte 0")


def of_schema(data: bytes, batch: Batch, schema: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(`line N`, object) of every line that names this `schema`; another schema is an issue."""
    for number, document in objects(data, batch):
        where = f"line {number}"
        if document.get("schema") == schema:
            yield where, document
        else:
            batch.issue(
                "unknown_schema",
                f"schema {document.get('schema')!r} is not {schema!r}; left out",
                severity="error",
                location=where,
            )
