"""Gemini CLI's transcripts: `gemini --output-format stream-json`, one event a line.

Texts come in pieces (`delta`) that belong together. Nothing marks where one request to the model ends:
a turn is what was said and called until tools have answered. Tokens come once, at the end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import metrics
from kbstats.ingest.format import CONTENT, NO, Source
from kbstats.ingest.formats.agent_transcript import mapping, text_of
from kbstats.ingest.formats.agent_transcript_lines import records
from kbstats.ingest.formats.agent_transcript_run import Session, TranscriptFormat
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.rows import Turn

_INIT = re.compile(rb'"type"\s*:\s*"init"')
_TYPES = frozenset({"init", "message", "tool_use", "tool_result", "error", "result"})


class Line(msgspec.Struct, gc=False):
    """One event."""

    type: str | None = None
    timestamp: Any = None
    session_id: str | None = None
    model: str | None = None
    role: str | None = None
    content: Any = None
    delta: bool | None = None
    tool_name: str | None = None
    tool_id: str | None = None
    parameters: Any = None
    status: str | None = None
    output: Any = None
    error: Any = None
    message: Any = None
    severity: str | None = None
    stats: Any = None


class Gemini(TranscriptFormat):
    """One session a file."""

    name = "gemini"

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  such a file may be called anything
        """By its first event."""
        return CONTENT if _INIT.search(head) and b'"session_id"' in head and b'"model"' in head else NO

    def read(self, source: Source, batch: Batch) -> None:
        """One run, also of a file cut short: the outcome never stood in it."""
        reader = _Reader(Session(source, batch, self.name))
        for number, line in records(source.read(), Line, batch):
            reader.take(line, f"line {number}")
        reader.finish()


FORMAT = Gemini()


class _Reader:
    def __init__(self, session: Session) -> None:
        self.session, self.talk = session, session.conversation
        self._open: Turn | None = None
        self._pieces: list[str] = []
        self._answered = False

    def _turn(self) -> Turn:
        if self._open is None or self._answered:
            self._flush()
            self._open, self._answered = self.talk.turn(), False
        return self._open

    def _flush(self) -> None:
        """What was said in pieces is said."""
        if self._pieces:
            self.talk.say("assistant", "".join(self._pieces), self._open)
            self._pieces = []

    def take(self, line: Line, where: str) -> None:
        """One event."""
        if line.type not in _TYPES:
            return
        s = self.session
        s.events += 1
        s.session_id = s.session_id or line.session_id
        s.model = s.model or line.model
        if line.timestamp is not None:
            self.talk.at(utc(line.timestamp, s.batch, where))
        if line.type == "message":
            self._message(line)
        elif line.type == "tool_use":
            turn = self._turn()
            self._flush()
            self.talk.call(line.tool_name, line.parameters, line.tool_id, turn)
        elif line.type == "tool_result":
            self._answered = True
            failed = _message_of(line.error)
            text = text_of(line.output) or failed
            ok = {"success": True, "error": False}.get(line.status or "")
            self._flush()
            self.talk.answer(self.talk.called(line.tool_id), text, ok=ok)
        elif line.type == "error":
            self._flush()
            self.talk.feedback(_message_of(line.message) or _message_of(line.error))
        elif line.type == "result":
            self._result(line)

    def _message(self, line: Line) -> None:
        text = text_of(line.content)
        if line.role != "assistant":
            self._flush()
            self._open = None
            self.talk.hear("user", text)
            return
        self._turn()
        if not line.delta:
            self._flush()
        self._pieces.append(text)

    def _result(self, line: Line) -> None:
        s, stats = self.session, mapping(line.stats)
        counts = [v if isinstance(v := stats.get(k), int) and not isinstance(v, bool) and 0 <= v < 2**62 else None
                  for k in ("input_tokens", "output_tokens", "total_tokens")]
        if any(counts):
            s.tokens = counts[0], counts[1], counts[2]
        if (ms := metrics.positive(stats.get("duration_ms"))) is not None:
            s.wall_s = ms / 1000
        s.extra["result"] = {"status": line.status, **({"error": e} if (e := _message_of(line.error)) else {})}
        if stats:
            s.extra["stats"] = stats

    def finish(self) -> None:
        """The run."""
        self._flush()
        self.session.finish()


def _message_of(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("message")
    return value if isinstance(value, str) and value else None
