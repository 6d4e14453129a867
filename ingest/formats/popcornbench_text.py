"""What was said: messages out of responses, and out of the first turn's input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode
from kbstats.ingest.rows import Message

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.formats.popcornbench_records import Item, TurnRecord

_ROLES = {"system": "system", "developer": "system", "user": "user"}


class _Input(msgspec.Struct, gc=False):
    role: Any = None
    content: Any = None


_inputs = msgspec.json.Decoder(list[_Input])


def text_of(content: Any) -> str:
    """The text of a content field: a string, or a list of parts that carry `text`."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    texts = [p if isinstance(p, str) else p.get("text") for p in parts if isinstance(p, (str, dict))]
    return "\n".join(t for t in texts if isinstance(t, str) and t)


def opening_messages(run_id: str, turn: int, messages_in: Any, batch: Batch) -> list[Message]:
    """System and user messages of the first turn's input; later inputs repeat them."""
    if not messages_in:
        return []
    entries: list[_Input] | None
    if isinstance(messages_in, msgspec.Raw):
        try:
            entries = _inputs.decode(messages_in)
        except msgspec.MsgspecError:
            entries = _repaired(bytes(messages_in), batch)
    else:
        entries = _listed(messages_in)
    if entries is None:
        batch.issue("type_dropped", "the messages have another shape; left out", location="/turns/0/messages_in")
        return []
    out: list[Message] = []
    for entry in entries:
        kind = _ROLES.get(entry.role) if isinstance(entry.role, str) else None
        if kind and (text := text_of(entry.content)):
            out.append(Message(run_id=run_id, turn=turn, seq=len(out), kind=kind, text=text))
    return out


def _repaired(data: bytes, batch: Batch) -> list[_Input] | None:
    """The same by the slow path, which reads bytes that are no UTF-8; None where it is no list."""
    try:
        found = decode.untyped(data, batch)
    except decode.UnreadableError:
        return None
    return _listed(found)


def _listed(found: Any) -> list[_Input] | None:
    if not isinstance(found, list) or not all(isinstance(m, dict) for m in found):
        return None
    return [_Input(m.get("role"), m.get("content")) for m in found]


def messages_of(run_id: str, turn: int, record: TurnRecord, seq: int) -> Iterator[Message]:
    """What the model said in a turn, and what the harness told it afterwards."""
    for item in record.response or ():
        kind, text = _said(item)
        if text:
            yield Message(run_id=run_id, turn=turn, seq=seq, kind=kind, text=text)
            seq += 1
    if record.feedback_to_model:
        yield Message(run_id=run_id, turn=turn, seq=seq, kind="feedback", text=record.feedback_to_model)


def _said(item: Item) -> tuple[str, str]:
    if item.type == "reasoning":
        parts = [text_of(item.summary or []), text_of(item.content or [])]
        return "reasoning", "\n".join(p for p in parts if p)
    if item.type == "message" or (item.type is None and item.role == "assistant"):
        return "assistant", text_of(item.content or [])
    return "", ""
