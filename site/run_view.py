"""A run as its page tells it: the state of each turn, the error that mattered, each submission as a diff."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kbstats.site import blocks, erring, metrics
from kbstats.site.changes import Changes, compare

if TYPE_CHECKING:
    from collections.abc import Callable

    from markupsafe import Markup

Row = dict[str, Any]

MARKED = 50
"""Diagnostics of one call whose lines can be linked to."""


@dataclass
class Kernel:
    """A kernel as one call sent it."""

    sha: str
    source: str | None
    language: str | None
    n_lines: int
    lines: erring.Lines | None = None
    same_as: int | None = None
    changes: Changes | None = None
    against: int | None = None


@dataclass
class Call:
    """A tool call with what came back."""

    row: Row
    args: str
    kernel: Kernel | None
    failure: Row | None
    errors: list[Row]
    timeouts: list[Row]
    metrics: list[metrics.Group]
    part: str | None = None
    """The page on which it is shown in full, where that is not the run's."""

    @property
    def name(self) -> str:
        """Its id on that page."""
        return f"t{self.row['turn']}-{self.row['seq']}"

    @property
    def marks(self) -> frozenset[int]:
        """Lines of its kernel that diagnostics name: what links may lead to."""
        if self.kernel is None or self.kernel.same_as is not None:
            return frozenset()
        return frozenset(line for e in self.errors[:MARKED] if (line := self.line_of(e)))

    def line_of(self, error: Row) -> int | None:
        """The line of the sent kernel that a diagnostic names."""
        if self.kernel is None or self.kernel.source is None or error["line"] is None:
            return None
        if self.kernel.lines is None:
            self.kernel.lines = erring.Lines(self.kernel.source)
        return self.kernel.lines.line(error)

    def excerpt(self, error: Row) -> list[tuple[int, Markup, bool]]:
        """That line with its neighbours; nothing where nobody can say which it is."""
        line = self.line_of(error)
        return blocks.excerpt(self.kernel.source, line) if line and self.kernel and self.kernel.source else []

    @property
    def key_errors(self) -> list[Row]:
        """The diagnostics that mattered: fatal ones and errors, each once; without one, the first of any kind."""
        seen: dict[tuple[Any, ...], Row] = {}
        for e in self.errors:
            if "error" in (e["severity"] or ""):
                seen.setdefault((e["file"], e["line"], e["message"]), e)
        # ninja only says that something failed: it matters where nothing else speaks.
        said = [e for e in seen.values() if e["toolchain"] != "ninja"] or list(seen.values())
        return said[:3] or self.errors[:1]

    @property
    def state(self) -> str:
        """The call's contribution to the state of its turn (`words.STATES`)."""
        return state_of(self.row, self.failure)


@dataclass
class TurnView:
    """A turn."""

    row: Row
    messages: list[Row]
    calls: list[Call]
    timeouts: list[Row]
    state: str = "none"
    part: str | None = None
    page: str | None = None

    @property
    def seconds(self) -> float | None:
        """How long it took: the model's and the tools' time, else the wall clock, which may hold waiting."""
        if self.row["llm_s"] is not None and self.row["tools_s"] is not None:
            return float(self.row["llm_s"] + self.row["tools_s"])
        return self.row["wall_s"] if self.row["wall_s"] is not None else self.row["llm_s"]

    @property
    def number(self) -> int:
        """Its number, from 0, as the source has it."""
        return int(self.row["turn"])


@dataclass
class RunView:
    """Everything a run's page shows."""

    run: Row
    prompts: list[Row]
    turns: list[TurnView]
    final_metrics: list[metrics.Group]
    final_errors: list[Row]
    final_timeouts: list[Row]
    kernel: Row | None
    reference: Row | None
    copies: list[Row]
    extra: list[tuple[str, str]]


# Failure classes begin with a kind; the others say that the kernel ran and was wrong.
_KINDS = {"timeout": "late", "infra": "infra", "llm": "none", "compile": "broken", "link": "broken", "static": "broken"}


def state_of(call: Row, failure: Row | None) -> str:
    """How the result of a tool call is set: right, wrong, broken, late, infra or none."""
    if call["outcome"] == "timeout":
        return "late"
    if failure is not None:
        return _KINDS.get((failure["failure_class"] or "").partition(".")[0], "wrong")
    if call["ok"] is None or not call["kernel_sha256"]:
        return "none"
    return "right" if call["ok"] else "wrong"


# States of a turn as `run_states` has them, and this page's names for them.
_TURN_STATES = {"compiles": "built", "not_compiling": "broken", "not_judged": "late"}


def _turn_state(turn: TurnView, state: str | None) -> str:
    if state is None:
        return "late" if turn.timeouts else "none"
    return _TURN_STATES.get(state, state)


def args_line(text: str | None) -> str:
    """Arguments of a call (the kernel is not among them) on one line where they are short."""
    if not text:
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return "" if value in ({}, [], None) else json.dumps(value, ensure_ascii=False)


def _kernel(
    sha: str, row: Row | None, shown: Callable[[Row], str], seen: dict[str, int], last: tuple[Kernel, int] | None
) -> Kernel:
    k = Kernel(sha, shown(row) if row else None, row["language"] if row else None, row["n_lines"] if row else 0)
    if sha in seen:
        k.same_as = seen[sha]
    elif last is not None and last[0].source is not None and k.source is not None:
        k.changes, k.against = compare(last[0].source, k.source), last[1]
    return k


def view(
    run: Row,
    detail: dict[str, list[Row]],
    failures: list[Row],
    kernels: dict[str, Row],
    reference: Row | None,
    *,
    shown: Callable[[Row], str],
    judged: list[tuple[int, str]],
) -> RunView:
    """Put a run together from its rows.

    Args:
        run: The run, as `Site.runs` holds it.
        detail: Its rows in the detail tables (`read.details`).
        failures: Its rows of `tool_failures`.
        kernels: Kernels with source, by hash: at least those the run sent.
        reference: The problem's row with its source, where known.
        shown: A kernel's source as it may be shown.
        judged: Turns that were judged, with their state (`run_states`).
    """
    by: dict[str, dict[Any, list[Row]]] = {name: defaultdict(list) for name in detail}
    for name, rows in detail.items():
        for row in rows:
            if "turn" in row:
                by[name][row["turn"]].append(row)

    def at(name: str, turn: int, seq: int | None = None) -> list[Row]:
        return [r for r in by[name].get(turn, ()) if seq is None or r["seq"] == seq]

    failed = {(f["turn"], f["seq"]): f for f in failures}
    numbers = sorted({t["turn"] for t in detail["turns"]} | {c["turn"] for c in detail["calls"]})
    known = {t["turn"]: t for t in detail["turns"]}
    empty = dict.fromkeys(
        (
            "llm_s",
            "tools_s",
            "wall_s",
            "input_tokens",
            "output_tokens",
            "total_tokens",
            "is_final",
            "provider_truncated",
            "feedback",
        )
    )
    turns: list[TurnView] = []
    seen: dict[str, int] = {}
    last: tuple[Kernel, int] | None = None
    for n in numbers:
        calls = []
        for c in at("calls", n):
            sha = c["kernel_sha256"]
            k = _kernel(sha, kernels.get(sha), shown, seen, last) if sha else None
            if k is not None:
                seen.setdefault(k.sha, n)
                last = k, n
            calls.append(
                Call(
                    c,
                    args_line(c["args"]),
                    k,
                    failed.get((n, c["seq"])),
                    at("errors", n, c["seq"]),
                    at("timeouts", n, c["seq"]),
                    metrics.groups(at("metrics", n, c["seq"])),
                )
            )
        said = [m for m in at("messages", n) if m["kind"] not in ("system", "user") or n != numbers[0]]
        turns.append(TurnView(known.get(n, {**empty, "turn": n}), said, calls, at("timeouts", n)))
    states = dict(judged)
    for t in turns:
        t.state = _turn_state(t, states.get(t.number))
    final = [m for m in detail["metrics"] if m["turn"] is None]
    return RunView(
        run=run,
        prompts=[
            m
            for m in detail["messages"]
            if m["kind"] in ("system", "user") and (not numbers or m["turn"] == numbers[0])
        ],
        turns=turns,
        final_metrics=metrics.groups(final),
        final_errors=[e for e in detail["errors"] if e["turn"] is None],
        final_timeouts=[e for e in detail["timeouts"] if e["turn"] is None],
        kernel=kernels.get(run["submitted_kernel_sha256"] or ""),
        reference=reference,
        copies=detail["copies"],
        extra=_extra(run["extra"]),
    )


def _extra(text: str | None) -> list[tuple[str, str]]:
    """What the source has and no column holds, flat."""
    try:
        value = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return [("extra", text or "")]
    if not isinstance(value, dict):
        return [("extra", json.dumps(value, ensure_ascii=False))]
    return [
        (k, v if isinstance(v, str) else json.dumps(v, ensure_ascii=False))
        for k, v in sorted(value.items())
        if v not in (None, {}, [])
    ]


MARKS = 60
"""Marks of the timeline beyond which neighbours in one state share one: a long run keeps a light page."""


def strip(turns: list[TurnView], width: int = 900) -> list[dict[str, Any]]:
    """The timeline: a mark a turn, as wide as the turn was long (square roots: one long turn hides no others)."""
    if not turns:
        return []
    weights = [max(t.seconds or 0.0, 0.0) ** 0.5 for t in turns]
    marks: list[dict[str, Any]] = []
    for t, w in zip(turns, weights, strict=True):
        if len(turns) > MARKS and marks and (marks[-1]["state"] == t.state or len(marks) >= MARKS):
            marks[-1] |= {"last": t.number, "weight": marks[-1]["weight"] + w}
        else:
            marks.append({"turn": t.number, "last": t.number, "state": t.state, "weight": w})
    total = sum(weights)
    gap, least = 2.0, 8.0
    room = max(width - gap * (len(marks) - 1) - least * len(marks), 0.0)
    x = 0.0
    for m in marks:
        w = least + room * (m.pop("weight") / total if total else 1 / len(marks))
        m |= {"x": round(x, 1), "w": round(w, 1)}
        x += w + gap
    return marks
