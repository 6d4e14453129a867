"""Codex's transcripts: the rollout files it keeps, and the stream of `codex exec --json`.

A rollout says most things twice, as an event for people and as an item of the API: items count. Tokens
come as running totals, often repeated. The model's thoughts are encrypted but for their summaries.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import metrics
from kbstats.ingest.format import CONTENT, NO, Source
from kbstats.ingest.formats.agent_transcript import answer_text, mapping, text_of, word
from kbstats.ingest.formats.agent_transcript_lines import records
from kbstats.ingest.formats.agent_transcript_run import Session, TranscriptFormat
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.rows import ToolCall, Turn

_ROLLOUT = re.compile(rb'"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context)"')
_STREAM = re.compile(rb'"type"\s*:\s*"(?:thread\.started|item\.started|item\.completed|turn\.completed)"')
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:|exit code:) ?(?P<code>-?\d{1,9})", re.MULTILINE)
_CONTEXT = ("<environment_context>", "<user_instructions>", "<permissions instructions>", "# AGENTS.md instructions")
"""What the program puts before the user's own words, as a message of the user's."""

_OUTCOME = frozenset({"id", "type", "status", "aggregated_output", "exit_code", "result", "error"})


class Line(msgspec.Struct, gc=False):
    """One line: an envelope around `payload` in a rollout, an event in a stream."""

    type: str | None = None
    timestamp: Any = None
    payload: Any = None
    thread_id: str | None = None
    item: Any = None
    usage: Any = None
    error: Any = None
    message: Any = None


class Codex(TranscriptFormat):
    """One session a file."""

    name = "codex"

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  such a file may be called anything
        """By the envelope's types, or the stream's."""
        if _ROLLOUT.search(head) and b'"payload"' in head:
            return CONTENT
        return CONTENT if _STREAM.search(head) and (b'"thread_id"' in head or b'"item"' in head) else NO

    def read(self, source: Source, batch: Batch) -> None:
        """One run, also of a file cut short: the outcome never stood in it."""
        reader = _Reader(Session(source, batch, self.name))
        for number, line in records(source.read(), Line, batch):
            reader.take(line, f"line {number}")
        reader.session.finish()


FORMAT = Codex()


class _Reader:
    def __init__(self, session: Session) -> None:
        self.session, self.talk = session, session.conversation
        self._open: Turn | None = None
        self._seen: dict[str, int] | None = None

    def _turn(self) -> Turn:
        """The turn that is going on: it ends with a count of its tokens, or where tools have answered."""
        if self._open is None:
            self._open = self.talk.turn()
        return self._open

    def take(self, line: Line, where: str) -> None:
        """One line."""
        rollout = {
            "session_meta": self._meta, "turn_context": self._context, "response_item": self._item,
            "event_msg": self._event, "compacted": self._compacted,
        }
        if line.type in rollout and isinstance(line.payload, dict):
            rollout[line.type](line.payload)
        elif not self._stream_event(line):
            return
        self.session.events += 1
        if line.timestamp is not None:
            self.talk.at(utc(line.timestamp, self.session.batch, where))

    def _stream_event(self, line: Line) -> bool:
        """An event of `codex exec --json`; False for what is none."""
        if line.type == "thread.started":
            self.session.session_id = line.thread_id or self.session.session_id
        elif line.type == "item.completed" and isinstance(line.item, dict):
            self._streamed(line.item)
        elif line.type == "turn.completed":
            self._usage_of_stream(line.usage)
        elif line.type in {"turn.failed", "error"}:
            self.talk.feedback(_error(line.error) or _error(line.message))
        else:
            return line.type in {"turn.started", "item.started", "item.updated"}
        return True

    def _compacted(self, payload: dict[str, Any]) -> None:  # noqa: ARG002  what was said before stands in the file
        self.session.truncated = True

    def _meta(self, payload: dict[str, Any]) -> None:
        s = self.session
        if s.session_id is None:  # a resumed session's file repeats those it continues
            s.session_id = _text(payload.get("id"))
            extra = {k: payload[k] for k in ("cli_version", "originator", "source", "model_provider") if payload.get(k)}
            s.extra |= extra

    def _context(self, payload: dict[str, Any]) -> None:
        s = self.session
        s.model = s.model or _text(payload.get("model"))
        if effort := _text(payload.get("effort")):
            s.extra["reasoning_effort"] = effort

    def _item(self, p: dict[str, Any]) -> None:
        kind = word(p.get("type"))
        if kind == "message":
            self._message(p)
        elif kind == "reasoning":
            parts = [text_of(p.get("summary") or []), text_of(p.get("content") or [])]
            self.talk.say("reasoning", "\n".join(t for t in parts if t), self._turn())
        elif kind in {"function_call", "custom_tool_call", "local_shell_call", "web_search_call"}:
            args = p.get({"function_call": "arguments", "custom_tool_call": "input"}.get(kind, "action"))
            call = self.talk.call(p.get("name") or kind, args, p.get("call_id") or p.get("id"), self._turn())
            if kind == "custom_tool_call" and isinstance(args, str):
                call.args = {"input": args}
        elif kind in {"function_call_output", "custom_tool_call_output", "local_shell_call_output"}:
            self._answer(self.talk.called(p.get("call_id")), p.get("output"))

    def _message(self, p: dict[str, Any]) -> None:
        text, role = text_of(p.get("content")), word(p.get("role"))
        if role == "assistant":
            self.talk.say("assistant", text, self._turn())
        elif role in {"system", "developer"} or text.startswith(_CONTEXT):
            self.talk.hear("system", text)
        else:
            self._open = None
            self.talk.hear("user", text)

    def _answer(self, call: ToolCall | None, output: Any) -> None:
        """An output is text, parts, or JSON text of {output, metadata: {exit_code, duration_seconds}}."""
        ok: bool | None = None
        found = _json(output)
        if isinstance(found, dict):
            metadata = mapping(found.get("metadata"))
            code = metadata.get("exit_code")
            ok = found["success"] if isinstance(found.get("success"), bool) else ok
            ok = code == 0 if isinstance(code, int) else ok
            if call is not None:
                call.duration_s = metrics.number(metadata.get("duration_seconds"))
                call.metadata = metadata or call.metadata
            output = found.get("output", found.get("content", output))
        text = answer_text(output) or ""
        if ok is None and (m := _EXIT.search(text[:400])):
            ok = int(m["code"]) == 0
        self.talk.answer(call, text, ok=ok)
        if call is not None and self._open is not None and call.turn == self._open.turn and self._seen is None:
            self._open = None  # no counts so far: a call that was answered ends the turn

    def _event(self, p: dict[str, Any]) -> None:
        kind = word(p.get("type"))
        if kind == "token_count" and isinstance(info := p.get("info"), dict):
            self._counted(info)
        elif kind in {"error", "stream_error"}:
            self.talk.feedback(_error(p.get("message")))
        elif kind in {"turn_aborted", "context_compacted"}:
            self.session.truncated = True if kind == "context_compacted" else self.session.truncated
            self.session.extra[kind] = _text(p.get("reason")) or True

    def _counted(self, info: dict[str, Any]) -> None:
        """A running total and the last request's share. The same total again tells nothing new."""
        total, last = _counts(info.get("total_token_usage")), _counts(info.get("last_token_usage"))
        if total and total == self._seen:
            return
        if total:
            self._seen = total
            self.session.tokens = total.get("input_tokens"), total.get("output_tokens"), total.get("total_tokens")
        if last and self.talk.turns:
            turn = self._open or self.talk.current
            self.talk.tokens(turn, last.get("input_tokens"), last.get("output_tokens"), last.get("total_tokens"))
            self._open = None

    def _streamed(self, item: dict[str, Any]) -> None:
        kind, turn = word(item.get("type")), self._turn()
        if kind == "agent_message":
            self.talk.say("assistant", text_of(item.get("text")), turn)
        elif kind == "reasoning":
            self.talk.say("reasoning", text_of(item.get("text")), turn)
        elif kind == "error":
            self.talk.feedback(_error(item.get("message")))
        elif kind:
            args = {k: v for k, v in item.items() if k not in _OUTCOME}
            name = item.get("tool") if kind == "mcp_tool_call" else kind
            call = self.talk.call(name, args.get("arguments") if kind == "mcp_tool_call" else args, None, turn)
            code, status = item.get("exit_code"), item.get("status")
            ok = code == 0 if isinstance(code, int) else {"completed": True, "failed": False}.get(str(status))
            output = item.get("aggregated_output") or item.get("result") or item.get("error")
            self.talk.answer(call, output, ok=ok)

    def _usage_of_stream(self, usage: Any) -> None:
        """A stream counts once a user's turn, over all of the model's."""
        counts = _counts(usage)
        if counts:
            known = self.session.tokens or (0, 0, 0)
            tokens_in = (known[0] or 0) + counts.get("input_tokens", 0)
            tokens_out = (known[1] or 0) + counts.get("output_tokens", 0)
            self.session.tokens = tokens_in, tokens_out, tokens_in + tokens_out
        self._open = None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _error(value: Any) -> str | None:
    if isinstance(value, dict):
        value = value.get("message")
    return _text(value)


def _json(output: Any) -> Any:
    if isinstance(output, str) and output.startswith("{"):
        try:
            return msgspec.json.decode(output)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return None
    return output


def _counts(value: Any) -> dict[str, int]:
    if not isinstance(value, dict):
        return {}
    return {k: v for k, v in value.items() if isinstance(v, int) and not isinstance(v, bool) and 0 <= v < 2**62}
