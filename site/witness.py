"""The evidence of a refusal in words: what anybody can check, as a sentence."""

from __future__ import annotations

import json
from typing import Any

from kbstats.site import fmt
from kbstats.site.redact import lowered, parted, spaced

_WRONG = {
    "shape": "wrong shape",
    "dtype": "wrong type of element",
    "type": "not a tensor",
    "count": "wrong number of outputs",
    "layout": "wrong layout",
    "device": "on another device",
    "stride": "an expanded tensor",
    "nan": "not a number in the output",
    "uninitialised": "memory that was never written",
    "input_distribution": "wrong on another distribution of inputs",
    "raised": "raised an error",
    "input_mutation": "wrote to its input",
    "cache_replay": "returned the answer of another call",
    "stream": "left its work on a stream that nobody waits for",
    "deferred": "gave its answer later than it returned",
    "hardcoded_weights": "ignored the weights it was given",
    "lazy": "returned an object that computes later",
    "timer": "patched the clock",
    "timing": "did its work outside of the timed part",
    "result_forge": "forged the result",
}
"""Kinds of refusal (the part of a verdict after its colon), as a person would say them."""

_WORDS = {"INCORRECT": "wrong result", "FLAKY": "wrong in some repetitions", "BUILD_FAILED": "not built"}
"""Verdicts without a kind."""

_SHOWN = {
    "input_shapes", "shapes", "call", "case", "output", "index", "expected", "got", "error_over_budget",
    "answer_of_call", "answer_of_slot", "error", "stage", "patched", "input", "timed", "slot",
}  # fmt: skip


def _number(x: Any) -> str:
    return fmt.sig(x, 4) if isinstance(x, (int, float)) and not isinstance(x, bool) else _flat(x)


def _flat(x: Any) -> str:
    return x if isinstance(x, str) else json.dumps(x, ensure_ascii=False)


def shapes(x: Any) -> str:
    """`[[13, 48]]` as `[13, 48]`, several joined by `and`."""
    if isinstance(x, list) and x and all(isinstance(s, list) for s in x):
        return " and ".join(_flat(s) for s in x)
    return _flat(x)


def form(x: Any) -> str:
    """An output's form: its shape, and the type where that is what differs."""
    if isinstance(x, list) and x and all(isinstance(o, dict) and "shape" in o for o in x):
        return " and ".join(_flat(o["shape"]) for o in x)
    if isinstance(x, dict) and "shape" in x:
        return _flat(x["shape"])
    return _number(x)


def _types(x: Any) -> str:
    if isinstance(x, list) and x and all(isinstance(o, dict) and "dtype" in o for o in x):
        return " and ".join(str(o["dtype"]) for o in x)
    return form(x)


def sentence(text: str | None, verdict: str = "") -> str:
    """A witness (JSON) as a sentence without its full stop.

    >>> w = '{"input_shapes": [[13, 48]], "expected": [{"shape": [13, 24]}], "got": [{"shape": [16, 24]}], "call": 4}'
    >>> sentence(w, "INCORRECT:shape")
    'wrong shape at input [13, 48]: expected [13, 24], got [16, 24] (call 4)'
    """
    if not text:
        return ""
    try:
        w = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(w, dict):
        return _flat(w)
    kind = parted(verdict, ":")[1]
    return _what(w, verdict) + _values(w, kind) + _causes(w) + _notes(w)


def _what(w: dict[str, Any], verdict: str) -> str:
    word, kind = parted(verdict, ":")
    out = _WRONG.get(kind, spaced(kind)) or _WORDS.get(word, lowered(spaced(word)))
    where = w.get("input_shapes", w.get("shapes"))
    return out if where is None else f"{out} at input {shapes(where)}"


def _values(w: dict[str, Any], kind: str) -> str:
    say = _types if kind == "dtype" else form
    parts = [f"{name} {say(w[name])}" for name in ("expected", "got") if name in w]
    at = f"element {_flat(w['index'])}: " if parts and w.get("index") is not None else ""
    return f": {at}{', '.join(parts)}" if parts else ""


def _causes(w: dict[str, Any]) -> str:
    out = f": {_flat(w['error'])}" if w.get("error") else ""
    if w.get("patched"):
        out += f": {', '.join(map(_flat, w['patched'])) if isinstance(w['patched'], list) else _flat(w['patched'])}"
    if isinstance(w.get("error_over_budget"), (int, float)):
        out += f", {fmt.sig(w['error_over_budget'])} times the error allowed"
    return out


def _notes(w: dict[str, Any]) -> str:
    notes = []
    if "answer_of_call" in w:
        notes.append(f"call {_flat(w.get('call'))}, the answer of call {_flat(w['answer_of_call'])}")
    elif "call" in w:
        notes.append(f"call {_flat(w['call'])}")
    if w.get("timed"):
        notes.append("in a timed call")
    notes += [f"{spaced(k)} {_flat(x)}" for k, x in w.items() if k not in _SHOWN and x not in (None, "", [])]
    return f" ({'; '.join(notes)})" if notes else ""
