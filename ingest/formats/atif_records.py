"""Harbor's Agent Trajectory Interchange Format as declared records; fields of v1.0 to v1.8.

Later versions only added optional fields: one declaration reads them all. Token ids and log
probabilities are a multiple of the texts and have no use here; they stay undecoded.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Call(msgspec.Struct, gc=False):
    """One tool call of a step."""

    tool_call_id: str | None = None
    function_name: str | None = None
    arguments: Any = None
    extra: Any = None


class Result(msgspec.Struct, gc=False):
    """One result of an observation. `content` is text, or parts since v1.6."""

    source_call_id: str | None = None
    content: Any = None
    subagent_trajectory_ref: Any = None
    extra: Any = None


class Observation(msgspec.Struct, gc=False):
    """What came back after a step."""

    results: list[Result] | None = None


class Metrics(msgspec.Struct, gc=False):
    """Tokens and cost of one step; cached tokens are part of the prompt's."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: msgspec.Raw = msgspec.Raw()
    completion_token_ids: msgspec.Raw = msgspec.Raw()
    logprobs: msgspec.Raw = msgspec.Raw()
    extra: Any = None


class Step(msgspec.Struct, gc=False):
    """One step: a message of the user, of the system, or one of the agent's with its calls."""

    step_id: int | None = None
    timestamp: str | None = None
    source: str | None = None
    model_name: str | None = None
    message: Any = None
    reasoning_content: str | None = None
    reasoning_effort: Any = None
    tool_calls: list[Call] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    llm_call_count: int | None = None
    extra: Any = None


class Agent(msgspec.Struct, gc=False):
    """The program that drove the model."""

    name: str | None = None
    version: str | None = None
    model_name: str | None = None
    tool_definitions: msgspec.Raw = msgspec.Raw()
    extra: Any = None


class FinalMetrics(msgspec.Struct, gc=False):
    """Totals of the trajectory."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = None
    extra: Any = None


class Trajectory(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One trajectory. An unknown key sends the file through the slow path, which keeps it in `extra`."""

    schema_version: str | None = None
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent | None = None
    steps: list[Step] | None = None
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    subagent_trajectories: Any = None
    extra: Any = None
