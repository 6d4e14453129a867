"""Time limits that were hit, whatever the source calls them.

Harnesses file most of these as compile failures. Each rule is a literal that must occur, a pattern
that finds the limit in seconds, and the scope: whose limit it was.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from kbstats.ingest import harness_words
from kbstats.ingest.metrics import number
from kbstats.ingest.rows import Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MESSAGE_CHARS = 300


class Rule(NamedTuple):
    """One kind of time-out: `needle` is looked for first, it costs a tenth of `pattern`."""

    scope: str
    needle: str
    pattern: re.Pattern[str]


def _rule(scope: str, needle: str, pattern: str) -> Rule:
    return Rule(scope, needle, re.compile(pattern))


_S = r"(?P<s>\d+(?:\.\d+)?)\s*(?:s\b|sec)"
_RANK = r"(?:\[[^\]\n]{1,200}\]:?\s*)*"
"""What torch writes before a line of a rank: `[rank0]:[E…] `."""
RULES = (
    _rule("torchrun", "torchrun eval timed out", rf"torchrun eval timed out(?: after {_S})?"),
    _rule(
        "profile",
        "timed out",
        # a worker's only line is the JSON text of its answer
        r"(?:torchrun worker exited with code -?\d+\.\s+stdout tail: \{\"error\": \")?(?P<words>ncu\S* timed out"
        rf"(?: after {_S})?|[Pp]rofiling timed out(?: \({_S.replace('?P<s>', '?P<s2>')}\)"
        rf"| after {_S.replace('?P<s>', '?P<s3>')})?)",
    ),
    _rule(
        "work_item",
        "work item exceeded soft timeout",
        rf"(?:_WorkItemTimeout: )?(?P<words>work item exceeded soft timeout budget(?: of {_S})?)",
    ),
    _rule("work_item", "_WorkItemTimeout", r"_WorkItemTimeout\b"),
    _rule("eval_rpc", "did not respond within", rf"eval server did not respond within {_S}"),
    _rule("check", "Evaluation timed out", rf"Evaluation timed out(?: after {_S})?"),
    _rule("check", "check_timeout", r"(?:failure_reason: )?check_timeout\b"),
    _rule("benchmark", "benchmark_timeout", r"(?:failure_reason: )?benchmark_timeout\b"),
    _rule(
        "tool",
        "Watchdog caught collective operation timeout",
        rf"{_RANK}(?P<words>Watchdog caught collective operation timeout"
        r"(?:[^\n]{0,500}?Timeout\(ms\)=(?P<ms>\d+))?)",
    ),
    _rule("tool", "timed out after", rf"(?:[\w.]*TimeoutExpired: )?(?:Command .{{1,300}}? )?timed out after {_S}"),
    _rule("tool", "TimeoutExpired", r"[\w.]*\bTimeoutExpired\b"),
    _rule("tool", "TimeoutError", r"[\w.]*\bTimeoutError\b"),
)
"""Tried in order at the beginning of the harness's own words; a text tells of one time-out."""

_PARTS = ("imeo", "imed", "respond within")
"""One of these is part of every needle: most texts are done after three looks."""
assert all(any(part in rule.needle for part in _PARTS) for rule in RULES)
_BY_CODE = {"torchrun_timeout": "torchrun", "eval_rpc_timeout": "eval_rpc"}
_LLM = re.compile(
    r"LLM call failed: (?P<name>\w*(?:Timeout|TimedOut)\w*)|LLM call failed: .{0,200}?\btimed out\b",
    re.DOTALL,
)
_BUDGET_KEYS = ("timeout_s", "torchrun_timeout_s", "re_eval_torchrun_timeout_s", "timeout_budget_s")


def in_result(
    text: str, metadata: Mapping[str, Any], *, tool: str = ""
) -> tuple[str, float | None, str] | None:
    """The time-out that a failed tool result or an error text tells of: (scope, budget in s, words).

    Only where the harness says so itself: what a kernel prints or raises makes no time-out.
    """
    if _may_tell(text):
        start = harness_words.start(text)
        for rule in RULES:
            if rule.needle not in text or not (m := rule.pattern.match(text, start)):
                continue
            scope = "profile" if rule.scope == "tool" and tool == "profile_kernel" else rule.scope
            return scope, _budget(m, metadata), _words(text, m)
    code = metadata.get("error")
    if isinstance(code, str) and code in _BY_CODE:
        return _BY_CODE[code], _from_keys(metadata), code
    return None


def _may_tell(text: str) -> bool:
    for part in _PARTS:  # noqa: SIM110  a generator costs more than the search
        if part in text:
            return True
    return False


def _budget(m: re.Match[str], metadata: Mapping[str, Any]) -> float | None:
    groups = m.groupdict()
    if seconds := groups.get("s") or groups.get("s2") or groups.get("s3"):
        return float(seconds)
    if ms := groups.get("ms"):
        return float(ms) / 1000
    return _from_keys(metadata)


def _from_keys(metadata: Mapping[str, Any]) -> float | None:
    return next((v for k in _BUDGET_KEYS if (v := number(metadata.get(k))) is not None), None)


def _words(text: str, m: re.Match[str]) -> str:
    """The line that says so, from where it says so on."""
    end = text.find("\n", m.end())
    start = m.start("words") if "words" in m.re.groupindex else m.start()
    return text[start : end if end >= 0 else len(text)][:MESSAGE_CHARS].strip()


def in_feedback(feedback: str) -> str | None:
    """The words of a failed call to the model that ran into a time limit."""
    if "LLM call failed" not in feedback or not (m := _LLM.search(feedback)):
        return None
    return _words(feedback, m)


def rows(
    run_id: str,
    text: str,
    metadata: Mapping[str, Any],
    *,
    tool: str = "",
    turn: int | None = None,
    seq: int | None = None,
    budgets: Mapping[str, float] | None = None,
    elapsed_s: float | None = None,
) -> Iterator[Timeout]:
    """At most one row for a failed result.

    Args:
        run_id: The run.
        text: What the tool answered, or the error text of a final result.
        metadata: Its structured part.
        tool: The tool's name.
        turn: The turn, None for the final result.
        seq: The call within the turn.
        budgets: Limits known from elsewhere (a sweep's configuration), by scope, in seconds.
        elapsed_s: How long it took, where the source says, in seconds.
    """
    if found := in_result(text, metadata, tool=tool):
        scope, budget, words = found
        yield Timeout(
            run_id=run_id,
            turn=turn,
            seq=seq,
            scope=scope,
            budget_s=budget if budget is not None else (budgets or {}).get(scope),
            elapsed_s=elapsed_s,
            message=words,
        )
