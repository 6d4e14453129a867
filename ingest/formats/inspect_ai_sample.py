"""One sample of an evaluation log to one run: its conversation, its scores, what ended it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from kbstats.ingest import identity, metrics
from kbstats.ingest.formats.agent_transcript import Conversation, mapping, text_of
from kbstats.ingest.formats.inspect_ai_records import EXTRA, ChatMessage, Sample, Spec, Usage
from kbstats.ingest.rows import Run, Timeout
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from kbstats.ingest.batch import Batch

HARNESS = "inspect_ai"
_ATTACHED = ("attachment://", "tc://")
"""How long texts are referred to; `tc://` until late 2024."""

_VERDICTS = {"C": True, "I": False, "N": False}
"""Correct, incorrect, no answer. `P`, partly, is neither."""

_REFUSED = frozenset({"approval", "permission", "parsing"})
_TIME_LIMITS = frozenset({"time", "working"})
_SUBMIT = frozenset({"submit", "submit_solution", "submit_kernel"})
"""Handing in an answer succeeds whatever the answer is worth: the scorer judges, not the tool."""

_KERNEL_MARKS = ("class ModelNew", "__global__", "@triton.jit")


def verdict(scores: Any) -> bool | None:
    """Whether the scores say correct: all verdicts (C, I, N, booleans) alike, or a single scorer's 1 or 0."""
    if not isinstance(scores, Mapping):
        return None
    values = [s.get("value") if isinstance(s, Mapping) else s for s in scores.values()]
    told = {v if isinstance(v, bool) else _VERDICTS.get(v) for v in values if isinstance(v, (str, bool))} - {None}
    if told:
        return told.pop() if len(told) == 1 else None
    if len(values) == 1 and isinstance(values[0], (int, float)) and values[0] in {0, 1}:
        return bool(values[0])
    return None


class SampleReader:
    """A sample on its way into the batch.

    Args:
        source_id: The log's id.
        batch: Takes the records.
        spec: What was evaluated.
        where: The sample's place in the log, for issues.
    """

    def __init__(self, source_id: str, batch: Batch, spec: Spec, where: str) -> None:
        self.source_id, self.batch, self.spec, self.where = source_id, batch, spec, where
        self.talk = Conversation(batch)
        self.attachments: Mapping[str, Any] = {}
        self._timeouts: list[Timeout] = []

    def read(self, sample: Sample, unknown: dict[str, Any], log: Mapping[str, Any]) -> None:
        """Fill the batch.

        Args:
            sample: The sample.
            unknown: Its keys that are not declared.
            log: What of the header goes to every run's `extra`.
        """
        self.attachments = mapping(sample.attachments)
        for message in sample.messages or ():
            self._message(message)
        if not sample.messages and sample.input is not None:
            self.talk.hear("user", self._text(sample.input))
        spec, metadata = self.spec, mapping(sample.metadata)
        number = sample.id if isinstance(sample.id, int) and not isinstance(sample.id, bool) else None
        columns: dict[str, Any] = {
            "suite": spec.task or HARNESS, "sweep": spec.run_id or spec.eval_id, "variant": None,
            "model_raw": spec.model,
            "level": _whole(metadata.get("level")), "problem_id": _whole(metadata.get("problem_id"), number),
            "problem_name": _name(metadata.get("problem_name"), sample.id),
            "sample_id": max((sample.epoch or 1) - 1, 0), "harness": HARNESS,
        }
        run_id = identity.run_id(**columns)
        correct = verdict(sample.scores)
        if correct is None and isinstance(sample.score, Mapping):
            correct = verdict({"score": sample.score})
        kernel = self._kernel(sample.scores)
        started = utc(sample.started_at, self.batch, f"{self.where} /started_at")
        finished = utc(sample.completed_at, self.batch, f"{self.where} /completed_at")
        tokens, cost = _usage(sample.model_usage)
        run = Run(
            run_id=run_id, source_id=self.source_id, format=HARNESS, **columns, model=identity.model_of(spec.model),
            max_turns=None, n_turns=len(self.talk.turns), n_tool_calls=len(self.talk.calls), started_at=started,
            finished_at=finished, wall_s=sample.total_time, input_tokens=tokens[0], output_tokens=tokens[1],
            total_tokens=tokens[2], cost_usd=cost, source_outcome=_outcome(sample, correct=correct), correct=correct,
            submitted_kernel_sha256=kernel, extra=self._extra(sample, unknown, log),
        )
        if self.batch.has_run(run_id):
            self.batch.issue("duplicate_run", "the log holds the same sample twice; the first is kept",
                             location=self.where, run_id=run_id)
            return
        self.batch.add(run)
        self.talk.close(run_id)
        if sample.limit is not None and sample.limit.type in _TIME_LIMITS:
            self._timeouts.append(
                Timeout(
                    run_id="", scope="session", budget_s=metrics.positive(sample.limit.limit),
                    elapsed_s=sample.total_time, message=f"the sample reached its {sample.limit.type} limit",
                )
            )
        for row in self._timeouts:
            row.run_id = run_id
            self.batch.add(row)

    def _message(self, m: ChatMessage) -> None:
        if m.role == "assistant":
            turn = self.talk.turn()
            self.talk.say("reasoning", self._text(m.reasoning), turn)
            for kind, text in self._parts(m.content):
                self.talk.say(kind, text, turn)
            for call in m.tool_calls or ():
                row = self.talk.call(call.function, call.arguments, call.id, turn)
                if call.parse_error:
                    row.metadata = {"error": "invalid_json_arguments", "parse_error": call.parse_error}
        elif m.role == "tool":
            self._answer(m)
        else:
            self.talk.hear("system" if m.role == "system" else "user", self._text(m.content))

    def _answer(self, m: ChatMessage) -> None:
        call = self.talk.called(m.tool_call_id)
        text, error = self._text(m.content), m.error
        if error is not None and error.message and error.message not in text:
            text = f"{text}\n{error.message}" if text else error.message
        silent = call is not None and call.tool in _SUBMIT and error is None
        self.talk.answer(call, text, ok=None if silent else error is None)
        if call is not None and error is not None:
            call.metadata = {**mapping(call.metadata), "error_type": error.type}
            if error.type == "timeout":
                call.outcome = "timeout"
                self._timeouts.append(
                    Timeout(run_id="", turn=call.turn, seq=call.seq, scope="tool", message=error.message)
                )
            elif error.type in _REFUSED:
                call.outcome = "refused"

    def _parts(self, content: Any) -> Iterator[tuple[str, str]]:
        """What an assistant's message holds: thoughts apart from what was said."""
        said = content if isinstance(content, list) else [content]
        for part in said:
            if isinstance(part, Mapping) and part.get("type") == "reasoning":
                text = part.get("reasoning") if not part.get("redacted") else part.get("summary")
                yield "reasoning", self._text(text if isinstance(text, str) else part.get("summary"))
            else:
                yield "assistant", self._text(part)

    def _text(self, content: Any) -> str:
        """A content's text, attachments put in."""
        if isinstance(content, list):
            return "\n".join(t for t in map(self._one, content) if t)
        return self._one(content)

    def _one(self, part: Any) -> str:
        text = text_of(part)
        if text.startswith(_ATTACHED):
            found = self.attachments.get(text.split("://", 1)[1])
            return found if isinstance(found, str) else text
        return text

    def _kernel(self, scores: Any) -> str | None:
        """The answer that a scorer says it judged, if it is a kernel's source and all scorers say the same."""
        answers = {
            a for s in (scores.values() if isinstance(scores, Mapping) else ())
            if isinstance(s, Mapping) and isinstance(a := s.get("answer"), str)
        }
        answer = self._text(answers.pop()) if len(answers) == 1 else ""
        return self.batch.kernel(answer) if "```" not in answer and any(k in answer for k in _KERNEL_MARKS) else None

    def _extra(self, sample: Sample, unknown: dict[str, Any], log: Mapping[str, Any]) -> dict[str, Any]:
        extra: dict[str, Any] = {**unknown, "id": sample.id, "eval": log}
        extra |= {k: v for k in EXTRA if (v := getattr(sample, k)) not in (None, [], {}, "")}
        if sample.limit is not None:
            extra["limit"] = {"type": sample.limit.type, "limit": sample.limit.limit}
        if sample.error is not None:
            extra["error"] = sample.error.message
            extra["traceback"] = sample.error.traceback
        retries = sample.error_retries if isinstance(sample.error_retries, list) else []
        if retries:
            extra["error_retries"] = [r.get("message") if isinstance(r, Mapping) else None for r in retries]
        if isinstance(sample.model_usage, dict) and len(sample.model_usage) > 1:
            extra["models"] = sorted(map(str, sample.model_usage))
        choices = sample.output.get("choices") if isinstance(sample.output, Mapping) else None
        if isinstance(choices, list) and choices and isinstance(choices[0], Mapping) and choices[0].get("stop_reason"):
            extra["stop_reason"] = choices[0]["stop_reason"]
        return extra


def _outcome(sample: Sample, *, correct: bool | None) -> str | None:
    """The label: an error ended the sample, or a scorer judged it, or it ran out of time unjudged."""
    if sample.error is not None:
        return "error"
    if correct is not None:
        return "correct" if correct else "incorrect"
    return "timeout" if sample.limit is not None and sample.limit.type in _TIME_LIMITS else None


def _usage(usage: dict[str, Usage] | None) -> tuple[tuple[int | None, int | None, int | None], float | None]:
    """Tokens and cost over all models. Some providers count cached input apart: then it is added."""
    parts: list[tuple[int, int, int]] = []
    costs: list[float] = []
    for u in (usage or {}).values():
        if not isinstance(u, Usage):
            continue
        tokens_in, tokens_out = u.input_tokens or 0, u.output_tokens or 0
        cached = (u.input_tokens_cache_read or 0) + (u.input_tokens_cache_write or 0)
        total = u.total_tokens if u.total_tokens is not None else tokens_in + tokens_out
        if cached and total == tokens_in + tokens_out + cached:
            tokens_in += cached
        parts.append((tokens_in, tokens_out, total))
        if u.total_cost is not None:
            costs.append(u.total_cost)
    if not parts:
        return (None, None, None), None
    return (sum(p[0] for p in parts), sum(p[1] for p in parts), sum(p[2] for p in parts)), sum(costs) if costs else None


def _whole(*values: Any) -> int | None:
    """The first whole number of 64 bits."""
    return next((v for v in values if isinstance(v, int) and not isinstance(v, bool) and abs(v) < 2**63), None)


def _name(named: Any, sample_id: Any) -> str | None:
    if isinstance(named, str) and named:
        return named
    return str(sample_id) if isinstance(sample_id, (str, int)) and str(sample_id) else None
