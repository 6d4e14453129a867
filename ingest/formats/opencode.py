"""opencode's transcripts: `opencode run --format json`, one event a line.

A turn is one step: step_start, text, reasoning and tool_use events, step_finish with tokens and cost.
A tool's call and its answer are one event.
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

_EVENT = re.compile(rb'"type"\s*:\s*"(?:step_start|step_finish|tool_use|text|error|reasoning)"')
_TYPES = frozenset({"step_start", "step_finish", "tool_use", "text", "error", "reasoning"})


class Line(msgspec.Struct, gc=False):
    """One event."""

    type: str | None = None
    timestamp: float | None = None
    sessionID: str | None = None  # noqa: N815  the event's own name
    part: Any = None
    error: Any = None


class Opencode(TranscriptFormat):
    """One session a file."""

    name = "opencode"

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  such a file may be called anything
        """By an event's type and the session's key."""
        return CONTENT if b'"sessionID"' in head and _EVENT.search(head) else NO

    def read(self, source: Source, batch: Batch) -> None:
        """One run, also of a file cut short: the outcome never stood in it."""
        reader = _Reader(Session(source, batch, self.name))
        for number, line in records(source.read(), Line, batch):
            reader.take(line, f"line {number}")
        reader.finish()


FORMAT = Opencode()


class _Reader:
    def __init__(self, session: Session) -> None:
        self.session, self.talk = session, session.conversation
        self._open: Turn | None = None
        self._reasons: list[str] = []

    def _turn(self) -> Turn:
        if self._open is None:
            self._open = self.talk.turn()
        return self._open

    def take(self, line: Line, where: str) -> None:
        """One event."""
        if line.type not in _TYPES:
            return
        s, part = self.session, mapping(line.part)
        s.events += 1
        s.session_id = s.session_id or line.sessionID
        if line.timestamp is not None:
            self.talk.at(utc(line.timestamp / 1000, s.batch, where))
        if isinstance(model := part.get("modelID"), str) and model:
            s.model = s.model or model
        if line.type == "step_start":
            self._open = self.talk.turn()
        elif line.type in {"text", "reasoning"}:
            self.talk.say("assistant" if line.type == "text" else "reasoning", text_of(part.get("text")), self._turn())
        elif line.type == "tool_use":
            self._tool(part)
        elif line.type == "step_finish":
            self._finish_step(part)
        else:
            self._error(line.error if line.error is not None else part.get("error"))

    def _tool(self, part: dict[str, Any]) -> None:
        state = mapping(part.get("state"))
        call = self.talk.call(part.get("tool"), state.get("input"), part.get("callID"), self._turn())
        status = state.get("status")
        metadata = mapping(state.get("metadata"))
        ok = {"completed": True, "error": False}.get(status) if isinstance(status, str) else None
        code = metadata.get("exit")
        if ok and isinstance(code, int) and not isinstance(code, bool):
            ok = code == 0
            call.metadata = {"exit": code}
        answer = state.get("output")
        self.talk.answer(call, answer if answer not in (None, "") else state.get("error"), ok=ok)
        span = mapping(state.get("time"))
        start, end = metrics.number(span.get("start")), metrics.number(span.get("end"))
        if start is not None and end is not None and end >= start:
            call.duration_s = (end - start) / 1000

    def _finish_step(self, part: dict[str, Any]) -> None:
        """Input that came from the cache, and thoughts, are counted apart."""
        turn, tokens = self._turn(), part.get("tokens")
        if isinstance(tokens, dict):
            cache = mapping(tokens.get("cache"))
            read = [_count(tokens.get("input")), _count(cache.get("read")), _count(cache.get("write"))]
            written = [_count(tokens.get("output")), _count(tokens.get("reasoning"))]
            self.talk.tokens(turn, sum(read), sum(written))
        if (cost := metrics.number(part.get("cost"))) is not None:
            self.session.cost_usd = (self.session.cost_usd or 0.0) + cost
        reason = part.get("reason")
        if isinstance(reason, str):
            self._reasons.append(reason)
            turn.provider_truncated = True if reason == "length" else None
        self._open = None

    def _error(self, error: Any) -> None:
        if isinstance(error, dict):
            data = error.get("data")
            message = data.get("message") if isinstance(data, dict) else error.get("message")
            error = f"{error.get('name') or 'error'}: {message}" if message else error.get("name")
        self.talk.feedback(text_of(error))

    def finish(self) -> None:
        """The run."""
        if self._reasons:
            self.session.extra["stop_reason"] = self._reasons[-1]
        self.session.finish()


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62 else 0
