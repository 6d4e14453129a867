"""A run's records as an ATIF trajectory (Agent Trajectory Interchange Format, version 1.7).

`steps` is what other tools read. `extra.kbstats` holds the records whole, at the front of the file,
so that reading it back gives the same tables.
"""

from __future__ import annotations

import json
from typing import Any

VERSION = "ATIF-v1.7"
SCHEMA = "kbstats.export/1"
_SOURCES = {"user": "user", "system": "system", "feedback": "user"}


def document(tables: dict[str, Any]) -> dict[str, Any]:
    """The trajectory of one run.

    Args:
        tables: Rows by table, of this run alone: `runs` (one), `turns`, `messages`, `tool_calls` and
            the others; and `kernels`, source by hash.
    """
    run = tables["runs"][0]
    records = {t: rows for t, rows in tables.items() if t != "kernels" and rows}
    steps = _steps(tables)
    totals = {
        "total_prompt_tokens": run.get("input_tokens"),
        "total_completion_tokens": run.get("output_tokens"),
        "total_cost_usd": run.get("cost_usd"),
        "total_steps": len(steps),
    }
    return {
        "schema_version": VERSION,
        "extra": {"kbstats": {"schema": SCHEMA, "tables": records}},
        "session_id": run["run_id"],
        "agent": {"name": run.get("harness") or "unknown", "version": "unknown", "model_name": run.get("model_raw")},
        "steps": steps,
        "final_metrics": {k: v for k, v in totals.items() if v is not None},
    }


def _steps(tables: dict[str, Any]) -> list[dict[str, Any]]:
    """What was said before a turn and after it, and one step of the agent a turn with its calls."""
    turns = {t["turn"]: t for t in tables["turns"]}
    said: dict[int, list[dict[str, Any]]] = {}
    calls: dict[int, list[dict[str, Any]]] = {}
    for message in tables["messages"]:
        said.setdefault(message["turn"], []).append(message)
    for call in tables["tool_calls"]:
        calls.setdefault(call["turn"], []).append(call)
    steps: list[dict[str, Any]] = []

    def add(step: dict[str, Any]) -> None:
        steps.append({"step_id": len(steps) + 1, **step})

    for turn in sorted({*turns, *said, *calls}):
        messages = sorted(said.get(turn, []), key=lambda m: m["seq"])
        for m in messages:
            if m["kind"] in {"user", "system"}:
                add({"source": _SOURCES[m["kind"]], "message": m["text"]})
        made = sorted(calls.get(turn, []), key=lambda c: c["seq"])
        add(_agent(turns.get(turn, {}), messages, made, tables["kernels"]))
        for m in messages:
            if m["kind"] == "feedback":
                add({"source": "user", "message": m["text"]})
    return steps


def _agent(
    turn: dict[str, Any], messages: list[dict[str, Any]], calls: list[dict[str, Any]], kernels: dict[str, str]
) -> dict[str, Any]:
    def joined(kind: str) -> str:
        return "\n".join(m["text"] for m in messages if m["kind"] == kind)

    step: dict[str, Any] = {"source": "agent", "message": joined("assistant")}
    if reasoning := joined("reasoning"):
        step["reasoning_content"] = reasoning
    tokens = {"prompt_tokens": turn.get("input_tokens"), "completion_tokens": turn.get("output_tokens")}
    if tokens := {k: v for k, v in tokens.items() if v is not None}:
        step["metrics"] = tokens
    if calls:
        step["tool_calls"] = [
            {
                "tool_call_id": f"{c['turn']}.{c['seq']}",
                "function_name": c["tool"],
                "arguments": _arguments(c, kernels),
            }
            for c in calls
        ]
        step["observation"] = {
            "results": [
                {"source_call_id": f"{c['turn']}.{c['seq']}", "content": c.get("result_text") or ""} for c in calls
            ]
        }
    return step


def _arguments(call: dict[str, Any], kernels: dict[str, str]) -> dict[str, Any]:
    args = call.get("args")
    found = json.loads(args) if isinstance(args, str) else args
    found = dict(found) if isinstance(found, dict) else {}
    if source := kernels.get(call.get("kernel_sha256") or ""):
        found["kernel_code"] = source
    return found
