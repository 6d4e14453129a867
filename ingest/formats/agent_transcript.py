"""A conversation of an agent with its tools on its way into the tables, whatever file tells of it.

Readers of trajectories, evaluation logs and agents' own transcripts hand over events in the order in
which they happened: a turn begins, something is said, a tool is called, its answer arrives. Which run
it belongs to may be known only at the end, so that the records get their `run_id` then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import diagnostics, timeouts
from kbstats.ingest.batch import Batch, json_text
from kbstats.ingest.formats.agent_transcript_files import SolutionFile
from kbstats.ingest.rows import Message, Timeout, ToolCall, Turn

if TYPE_CHECKING:
    from datetime import datetime

_REFUSED = re.compile(
    r"^(?:Permission to use |The user doesn't want to (?:proceed|take this action)|.{0,80}requested permissions to )"
)
_TIMED_OUT = re.compile(
    r"(?:Error: |<\w+>|\W){0,20}(?P<words>(?:bash tool )?[Cc]ommand timed out after (?:(?P<m>\d{1,6})m ?)?"
    r"(?P<n>\d{1,9}(?:\.\d+)?) ?(?P<unit>ms|milliseconds|s\b|sec))"
)
_EDGE_LINES = 2
"""An agent says so before or after what the command printed, which may hold the same words."""
_MAX_DEPTH = 8
"""Parts within parts beyond this hold no text that anybody wrote."""
_IMAGE = frozenset({"image", "input_image", "image_url"})


def word(value: Any) -> str:
    """A field that should hold one of a few words; the empty text for anything else."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> dict[str, Any]:
    """A field that should hold an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def text_of(content: Any, depth: int = 0) -> str:
    """The text of a content field: a string, or parts; a picture becomes `[image]` or `[image: path]`."""
    if isinstance(content, str):
        return content
    if depth > _MAX_DEPTH:
        return ""
    parts = content if isinstance(content, list) else [content]
    return "\n".join(t for t in (_part(p, depth) for p in parts) if t)


def _part(part: Any, depth: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    if word(part.get("type")) in _IMAGE:
        source = part.get("source")
        path = source.get("path") if isinstance(source, Mapping) else None
        return f"[image: {path}]" if isinstance(path, str) else "[image]"
    for key in ("text", "content", "output"):
        if isinstance(part.get(key), str):
            return str(part[key])
    inner = part.get("content")
    return text_of(inner, depth + 1) if isinstance(inner, list) else ""


def answer_text(content: Any) -> str | None:
    """What a tool answered, as text; a structure that holds none is written out."""
    if content is None:
        return None
    return text_of(content) or (content if isinstance(content, str) else json_text(content)) or None


def arguments(raw: Any) -> dict[str, Any]:
    """A call's arguments: an object, or JSON text of one; anything else stands under `_raw`."""
    if isinstance(raw, str):
        try:
            raw = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, RecursionError, UnicodeError):
            return {"_raw": raw}
    if isinstance(raw, Mapping):
        return {str(k): v for k, v in raw.items()}
    return {} if raw is None else {"_raw": raw}


class Conversation:
    """Takes events in order.

    Args:
        batch: Takes the records at `close`, and kernels.
        shell_is_silent: The source never says whether a call succeeded, so that compilers' output is
            looked for in every answer, not only in failed ones.
    """

    def __init__(self, batch: Batch, *, shell_is_silent: bool = False) -> None:
        self.batch = batch
        self.turns: list[Turn] = []
        self.calls: list[ToolCall] = []
        self.started_at: datetime | None = None
        self.finished_at: datetime | None = None
        self._silent = shell_is_silent
        self._said: list[tuple[int, str, str]] = []
        self._turn_of: dict[str, Turn] = {}
        self._open: dict[str, ToolCall] = {}
        self._seq: Counter[int] = Counter()
        self._kernel: str | None = None

    def at(self, moment: datetime | None) -> None:
        """Something happened at this time: widens the run's span."""
        if moment is None:
            return
        self.started_at = min(self.started_at or moment, moment)
        self.finished_at = max(self.finished_at or moment, moment)

    @property
    def wall_s(self) -> float | None:
        """Seconds from the first event to the last."""
        if self.started_at is None or self.finished_at is None or self.started_at == self.finished_at:
            return None
        return (self.finished_at - self.started_at).total_seconds()

    def turn(self, key: str | None = None) -> Turn:
        """The turn of this key, a new one if it has none yet; without a key always a new one."""
        if key is not None and (known := self._turn_of.get(key)) is not None:
            return known
        turn = Turn(run_id="", turn=len(self.turns))
        self.turns.append(turn)
        if key is not None:
            self._turn_of[key] = turn
        return turn

    @property
    def current(self) -> Turn:
        """The last turn; the first begins here where none has."""
        return self.turns[-1] if self.turns else self.turn()

    def say(self, kind: str, text: str | None, turn: Turn | None = None) -> None:
        """The agent said (`assistant`) or thought (`reasoning`) something; or what it was told (`feedback`)."""
        if text and text.strip():
            self._said.append(((turn or self.current).turn, kind, text))

    def hear(self, kind: str, text: str | None) -> None:
        """A `user` or `system` message: it belongs to the turn that follows."""
        if text and text.strip():
            self._said.append((len(self.turns), kind, text))

    def feedback(self, text: str | None, turn: Turn | None = None) -> None:
        """What came back from outside and is no single call's answer."""
        if not text or not text.strip():
            return
        turn = turn or self.current
        turn.feedback = f"{turn.feedback}\n{text}" if turn.feedback else text
        self.say("feedback", text, turn)

    def call(self, tool: Any, args: Any, call_id: Any = None, turn: Turn | None = None) -> ToolCall:
        """A tool is called."""
        turn = turn or self.current
        name = tool if isinstance(tool, str) and tool else "unknown"
        call = ToolCall(run_id="", turn=turn.turn, seq=self._seq[turn.turn], tool=name, args=arguments(args))
        self._seq[turn.turn] += 1
        self.calls.append(call)
        if isinstance(call_id, str) and call_id:
            self._open[call_id] = call
        return call

    def called(self, call_id: Any) -> ToolCall | None:
        """The call of this id."""
        return self._open.get(call_id) if isinstance(call_id, str) else None

    def answer(self, call: ToolCall | None, content: Any, *, ok: bool | None = None) -> None:
        """A call's answer; one that answers no call we know is feedback."""
        text = answer_text(content)
        if call is None:
            self.feedback(text)
            return
        if text is not None:
            call.result_text = text if call.result_text is None else f"{call.result_text}\n{text}"
        call.ok = ok if ok is not None else call.ok

    def tokens(self, turn: Turn, tokens_in: int | None, tokens_out: int | None, total: int | None = None) -> None:
        """Tokens of a turn. Said again for the same turn, they replace what was said before."""
        turn.input_tokens = tokens_in if tokens_in is not None else turn.input_tokens
        turn.output_tokens = tokens_out if tokens_out is not None else turn.output_tokens
        if total is None and (turn.input_tokens is not None or turn.output_tokens is not None):
            total = (turn.input_tokens or 0) + (turn.output_tokens or 0)
        turn.total_tokens = total if total is not None else turn.total_tokens

    def summed(self) -> tuple[int | None, int | None, int | None]:
        """Tokens in, out and in all over the turns; None where no turn says."""
        return (
            _sum(t.input_tokens for t in self.turns),
            _sum(t.output_tokens for t in self.turns),
            _sum(t.total_tokens for t in self.turns),
        )

    def solution(self) -> str | None:
        """The sha256 of the solution file as the calls left it, where that is certain.

        Calls that wrote the whole file carry its hash afterwards. Ask before `close`.
        """
        solution = SolutionFile()
        for call in self.calls:
            written = solution.take(call)
            if written is not None:
                call.kernel_sha256 = self.batch.kernel(written)
        return self.batch.kernel(solution.content)

    def close(self, run_id: str) -> None:
        """Hand all records over."""
        for turn in self.turns:
            turn.run_id = run_id
            self.batch.add(turn)
        seq: Counter[int] = Counter()
        for index, kind, text in self._said:
            at = min(index, max(len(self.turns) - 1, 0))
            self.batch.add(Message(run_id=run_id, turn=at, seq=seq[at], kind=kind, text=text))
            seq[at] += 1
        for call in self.calls:
            call.run_id = run_id
            self._judge(call)
            self.batch.add(call)

    def _judge(self, call: ToolCall) -> None:
        """A call's outcome, and what its answer tells of time limits and compilers."""
        text = call.result_text or ""
        timed_out = call.outcome == "timeout"
        if call.ok is False and text and not timed_out:
            for row in _timeouts(call, text):
                timed_out = True
                self.batch.add(row)
        if call.outcome is None and call.ok is not None:
            call.outcome = (
                "passed" if call.ok else "timeout" if timed_out else "refused" if _REFUSED.match(text) else "failed"
            )
        if text and (call.ok is False or (call.ok is None and self._silent)):
            for error in diagnostics.rows(call.run_id, text, building=False, turn=call.turn, seq=call.seq):
                self.batch.add(error)


def _timeouts(call: ToolCall, text: str) -> list[Timeout]:
    lines = text.strip().splitlines()
    edges = (*lines[:_EDGE_LINES], *lines[-_EDGE_LINES:])
    if m := next((m for line in edges if (m := _TIMED_OUT.match(line))), None):
        budget = float(m["n"]) / (1000 if m["unit"].startswith("m") else 1) + 60 * int(m["m"] or 0)
        return [
            Timeout(
                run_id=call.run_id, turn=call.turn, seq=call.seq, scope="tool", budget_s=budget,
                message=m["words"],
            )
        ]
    metadata = call.metadata if isinstance(call.metadata, dict) else {}
    return list(timeouts.rows(call.run_id, text, metadata, tool=call.tool, turn=call.turn, seq=call.seq))


def _sum(values: Iterable[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
