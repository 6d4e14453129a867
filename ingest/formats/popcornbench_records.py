"""The trajectory file of POPCORNBENCH as declared records; fields of all its generations.

Every field may be missing: files of before 2026-05-10 lack token counts and wall clocks, skip
markers have no turns. `messages_in` repeats the whole conversation in every turn and is four fifths
of a file: it stays undecoded, and only the first turn's is ever looked at.
"""

from __future__ import annotations

from typing import Any

import msgspec
from kbstats.ingest.lenient import Int  # noqa: TC002  msgspec reads the annotations


class Usage(msgspec.Struct, gc=False):
    """Tokens of one call, in the names of both kinds of API."""

    input_tokens: Int | None = None
    output_tokens: Int | None = None
    total_tokens: Int | None = None
    prompt_tokens: Int | None = None
    completion_tokens: Int | None = None


class Item(msgspec.Struct, gc=False):
    """One item of a response: `reasoning`, `message` or `function_call`."""

    type: str | None = None
    role: str | None = None
    name: str | None = None
    summary: Any = None
    content: Any = None
    arguments: msgspec.Raw = msgspec.Raw()
    """JSON text as a JSON string; the tool calls hold the same, so that it is seldom needed."""


class Call(msgspec.Struct, gc=False):
    """One tool call and what came of it."""

    tool_name: str | None = None
    args: Any = None
    result_text: str | None = None
    success: bool | None = None
    metadata: Any = None


class TurnRecord(msgspec.Struct, gc=False):
    """One exchange with the model."""

    turn_id: Int | None = None
    messages_in: msgspec.Raw = msgspec.Raw()
    response: list[Item] | None = None
    feedback_to_model: str | None = None
    llm_latency_s: float | None = None
    turn_wall_clock_s: float | None = None
    tools_wall_clock_s: float | None = None
    provider_truncated: bool | None = None
    is_final: bool | None = None
    submitted_kernel: str | None = None
    llm_usage: Usage | None = None
    tool_calls: list[Call] | None = None


class Trajectory(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One attempt. An unknown key sends the file through the slow path, which keeps it in `extra`."""

    problem_id: Int | None = None
    level: Int | None = None
    problem_name: str | None = None
    run_name: str | None = None
    model_name: str | None = None
    backend: str | None = None
    precision: str | None = None
    max_turns: Int | None = None
    max_tool_calls: Int | None = None
    tools_enabled: Any = None
    started_at: str | None = None
    finished_at: str | None = None
    agent_wall_clock_s: float | None = None
    chat_history_window_truncated: bool | None = None
    truncation_occurred: bool | None = None
    total_turns: Int | None = None
    total_tool_calls: Int | None = None
    llm_input_tokens: Int | None = None
    llm_output_tokens: Int | None = None
    llm_total_tokens: Int | None = None
    outcome: str | None = None
    final_result: dict[str, Any] | None = None
    turns: list[TurnRecord] | None = None
    skip_reason: str | None = None
    correct_original: Any = None
    correct_source: str | None = None
    outcome_original: str | None = None
    stress_eval: Any = None
    speedup: float | None = None
    cost_usd: float | None = None


EXTRA = (
    "max_tool_calls",
    "tools_enabled",
    "chat_history_window_truncated",
    "truncation_occurred",
    "skip_reason",
    "correct_original",
    "correct_source",
    "outcome_original",
    "stress_eval",
)
"""Keys that no column of `runs` holds; they go to `extra` under their own names."""
