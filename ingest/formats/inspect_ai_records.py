"""inspect_ai's evaluation log as declared records: the header, and samples without their event streams.

`events` repeats the messages of a sample with everything that happened around them and is most of a
log; it stays undecoded. So do the store and the pooled data that condensed events refer to.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Spec(msgspec.Struct, gc=False):
    """What was evaluated."""

    task: str | None = None
    task_id: str | None = None
    task_version: Any = None
    task_args: Any = None
    eval_id: str | None = None
    run_id: str | None = None
    created: str | None = None
    model: str | None = None
    model_args: Any = None
    model_generate_config: Any = None
    config: Any = None
    revision: Any = None
    packages: Any = None
    tags: Any = None
    metadata: Any = None


class Log(msgspec.Struct, gc=False):
    """The header; of a JSON log the whole document, of a running log only what `start.json` holds."""

    version: int | None = None
    status: str | None = None
    eval: Spec | None = None
    stats: Any = None
    error: Any = None
    invalidated: Any = None
    samples: list[msgspec.Raw] | None = None


class Usage(msgspec.Struct, gc=False):
    """Tokens of one model."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None
    reasoning_tokens: int | None = None
    total_cost: float | None = None


class ToolCallRecord(msgspec.Struct, gc=False):
    """A call in an assistant's message."""

    id: str | None = None
    function: str | None = None
    arguments: Any = None
    parse_error: str | None = None


class ToolError(msgspec.Struct, gc=False):
    """Why a tool failed."""

    type: str | None = None
    message: str | None = None


class ChatMessage(msgspec.Struct, gc=False):
    """One message; `content` is text or parts."""

    role: str | None = None
    content: Any = None
    reasoning: str | None = None
    tool_calls: list[ToolCallRecord] | None = None
    tool_call_id: str | None = None
    function: str | None = None
    error: ToolError | None = None


class SampleError(msgspec.Struct, gc=False):
    """What ended a sample."""

    message: str | None = None
    traceback: str | None = None


class Limit(msgspec.Struct, gc=False):
    """The limit that ended a sample."""

    type: str | None = None
    limit: float | None = None


class Sample(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One sample of one epoch. An unknown key sends it through the slow path, which keeps it in `extra`."""

    id: Any = None
    epoch: int | None = None
    input: Any = None
    choices: Any = None
    target: Any = None
    sandbox: Any = None
    files: Any = None
    setup: Any = None
    messages: list[ChatMessage] | None = None
    output: Any = None
    scores: Any = None
    score: Any = None
    metadata: Any = None
    store: msgspec.Raw = msgspec.Raw()
    events: msgspec.Raw = msgspec.Raw()
    timelines: msgspec.Raw = msgspec.Raw()
    events_data: msgspec.Raw = msgspec.Raw()
    model_usage: dict[str, Usage] | None = None
    role_usage: Any = None
    started_at: str | None = None
    completed_at: str | None = None
    total_time: float | None = None
    working_time: float | None = None
    uuid: str | None = None
    invalidation: Any = None
    error: SampleError | None = None
    error_retries: Any = None
    attachments: Any = None
    limit: Limit | None = None


EXTRA = (
    "choices", "target", "scores", "metadata", "role_usage", "working_time", "uuid", "invalidation", "sandbox", "files",
)
"""Keys of a sample that no column holds; they go to `extra` under their own names."""
