"""Claude Code's transcripts: `claude -p --output-format stream-json`, and the session files it keeps.

One message of the model comes as several lines with the same message id, one a content block, and each
repeats the usage so far: the last one counts. Tools' results are lines of type `user`. A stream ends
with a `result` line that holds totals. Agents of other vendors behind the same program write the same.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import metrics
from kbstats.ingest.format import CONTENT, NO, Source
from kbstats.ingest.formats.agent_transcript import text_of, word
from kbstats.ingest.formats.agent_transcript_lines import records
from kbstats.ingest.formats.agent_transcript_run import Session, TranscriptFormat
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.rows import ToolCall, Turn

_INIT = re.compile(rb'"type"\s*:\s*"system"')
_SUBTYPE = re.compile(rb'"subtype"\s*:\s*"init"')
_STREAM_KEYS = (b'"mcp_servers"', b'"slash_commands"', b'"agents"', b'"claude_code_version"')
"""Cursor and droid open their streams with the same two words, and none of these."""
_SESSION = re.compile(rb'"parentUuid"\s*:')
_SUMMARY = re.compile(rb'"type"\s*:\s*"(?:summary|file-history-snapshot|queue-operation)"')
_TYPES = frozenset({
    "system", "user", "assistant", "result", "summary", "file-history-snapshot", "queue-operation",
})
_SYNTHETIC = "<synthetic>"
"""The model of messages that the program wrote itself: errors of the provider, limits."""


class Usage(msgspec.Struct, gc=False):
    """Tokens; input that came from or went to the cache is counted apart."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None

    @property
    def read(self) -> int | None:
        """All tokens in, cached ones too."""
        parts = (self.input_tokens, self.cache_creation_input_tokens, self.cache_read_input_tokens)
        return None if all(p is None for p in parts) else sum(p or 0 for p in parts)


class MessageRecord(msgspec.Struct, gc=False):
    """One message of either side."""

    id: str | None = None
    role: str | None = None
    model: str | None = None
    content: Any = None
    usage: Usage | None = None
    stop_reason: str | None = None


class Line(msgspec.Struct, gc=False):
    """One line of a stream or of a session file."""

    type: str | None = None
    subtype: str | None = None
    message: MessageRecord | None = None
    timestamp: Any = None
    session_id: str | None = None
    sessionId: str | None = None  # noqa: N815  the session file's own name
    agentId: str | None = None  # noqa: N815
    parent_tool_use_id: str | None = None
    isSidechain: bool | None = None  # noqa: N815
    isMeta: bool | None = None  # noqa: N815
    isApiErrorMessage: bool | None = None  # noqa: N815
    model: str | None = None
    claude_code_version: str | None = None
    version: str | None = None
    total_cost_usd: float | None = None
    duration_ms: float | None = None
    duration_api_ms: float | None = None
    num_turns: int | None = None
    is_error: bool | None = None
    stop_reason: str | None = None
    usage: Usage | None = None
    permission_denials: Any = None
    content: Any = None


class ClaudeCode(TranscriptFormat):
    """One session a file."""

    name = "claude_code"

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  a session file may be called anything
        """By the stream's first event, or a session file's linked lines."""
        if _INIT.search(head) and _SUBTYPE.search(head) and any(k in head for k in _STREAM_KEYS):
            return CONTENT
        if _SESSION.search(head) and b'"sessionId"' in head:
            return CONTENT
        marked = any(k in head for k in (b'"leafUuid"', b'"sessionId"', b'"messageId"'))
        return CONTENT if marked and _SUMMARY.search(head) else NO

    def read(self, source: Source, batch: Batch) -> None:
        """One run, also of a file cut short: the outcome never stood in it."""
        reader = _Reader(Session(source, batch, self.name))
        for number, line in records(source.read(), Line, batch):
            reader.take(line, f"line {number}")
        reader.finish()


FORMAT = ClaudeCode()


class _Reader:
    def __init__(self, session: Session) -> None:
        self.s, self.talk = session, session.conversation
        self.models: Counter[str] = Counter()
        self.init_model: str | None = None
        self.results: list[dict[str, Any]] = []
        self.told: list[Usage] = []
        self.subagent_turns: set[int] = set()
        self.agent_id: str | None = None

    def take(self, line: Line, where: str) -> None:
        """One line."""
        if line.type not in _TYPES:
            return
        s = self.s
        s.events += 1
        s.session_id = s.session_id or line.session_id or line.sessionId
        if line.timestamp is not None:
            self.talk.at(utc(line.timestamp, s.batch, where))
        if line.version or line.claude_code_version:
            s.extra["version"] = line.claude_code_version or line.version
        if line.agentId and line.isSidechain:
            self.agent_id = line.agentId
        if line.type == "system":
            self._system(line)
        elif line.type == "assistant" and line.message is not None:
            self._assistant(line, line.message)
        elif line.type == "user" and line.message is not None:
            self._user(line.message)
        elif line.type == "result":
            self._result(line)

    def _system(self, line: Line) -> None:
        if line.subtype == "init":
            self.init_model = self.init_model or line.model
        elif line.subtype == "compact_boundary":
            self.s.truncated = True

    def _assistant(self, line: Line, message: MessageRecord) -> None:
        if message.model == _SYNTHETIC or line.isApiErrorMessage:
            self.talk.feedback(text_of(message.content))
            return
        if message.model:
            self.models[message.model] += 1
        turn = self.talk.turn(message.id)
        if line.isSidechain or line.parent_tool_use_id:
            self.subagent_turns.add(turn.turn)
        blocks = message.content if isinstance(message.content, list) else [message.content]
        for block in blocks:
            self._block(block, turn)
        if message.usage is not None:
            self.talk.tokens(turn, message.usage.read, message.usage.output_tokens)
        if message.stop_reason == "max_tokens":
            turn.provider_truncated = True

    def _block(self, block: Any, turn: Turn) -> None:
        kind = word(block.get("type")) if isinstance(block, dict) else ""
        if kind == "thinking":
            self.talk.say("reasoning", text_of(block.get("thinking")), turn)
        elif kind in {"tool_use", "server_tool_use"}:
            if self.talk.called(block.get("id")) is None:
                self.talk.call(block.get("name"), block.get("input"), block.get("id"), turn)
        elif kind != "redacted_thinking":
            self.talk.say("assistant", text_of(block), turn)

    def _user(self, message: MessageRecord) -> None:
        blocks = message.content if isinstance(message.content, list) else [message.content]
        for block in blocks:
            if isinstance(block, dict) and block.get("type") == "tool_result":
                call: ToolCall | None = self.talk.called(block.get("tool_use_id"))
                self.talk.answer(call, block.get("content"), ok=block.get("is_error") is not True)
            else:
                self.talk.hear("user", text_of(block))

    def _result(self, line: Line) -> None:
        s = self.s
        if line.total_cost_usd is not None:
            s.cost_usd = line.total_cost_usd  # of the whole session so far
        if (ms := metrics.positive(line.duration_ms)) is not None:
            s.wall_s = (s.wall_s or 0.0) + ms / 1000
        if line.usage is not None:
            self.told.append(line.usage)
        keys = ("subtype", "is_error", "num_turns", "stop_reason", "duration_api_ms", "permission_denials")
        self.results.append({k: v for k in keys if (v := getattr(line, k)) not in (None, [])})

    def finish(self) -> None:
        """Totals: the result's own where there is one, since usage in a stream is what was known as it began."""
        s = self.s
        s.model = self.init_model or (self.models.most_common(1)[0][0] if self.models else None)
        read = [u.read or 0 for u in self.told]
        written = [u.output_tokens or 0 for u in self.told]
        if sum(read) + sum(written):
            s.tokens = sum(read), sum(written), sum(read) + sum(written)
        if self.results:
            s.extra["results"] = self.results
        if len(self.models) > 1:
            s.extra["models"] = dict(sorted(self.models.items()))
        if self.subagent_turns:
            s.extra["n_subagent_turns"] = len(self.subagent_turns)
        if self.agent_id and len(self.subagent_turns) == len(self.talk.turns):
            # a subagent's own file: it shares its session with the file of the agent that started it
            s.extra["session_id"], s.session_id = s.session_id, f"{s.session_id}/{self.agent_id}"
        s.finish()
