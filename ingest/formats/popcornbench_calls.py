"""Tool calls of a trajectory: outcome, kernel, diagnostics, time-outs and measured numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import diagnostics, harness_words, metrics, timeouts
from kbstats.ingest.rows import CompileError, Timeout, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.formats.popcornbench_records import Call, TurnRecord

SUBMIT = "submit_kernel"
EVOLVED = "evaluate_ae_candidate"
"""Appears only among the response's function calls: an evolutionary search that ran on its own."""
KERNEL_ARGS = ("kernel_code", "kernel_src", "kernel", "code", "source")
_REFUSED = frozenset({"invalid_json_arguments", "unknown_tool"})
_BUILDING = re.compile(
    r"compile_kernel FAILED\b|\w+ FAILED(?: \([^)\n]*\))?: kernel did not compile\b"
    r"|.{0,200}?ModelNew (?:class )?not found"
)


class Calls:
    """Takes the turns in order; knows afterwards what was submitted last.

    Args:
        run_id: The run.
        batch: Takes the records.
        budgets: Limits that the sweep's configuration sets, by scope, in seconds.
        progress: Candidates that an evolutionary search wrote to a file of its own, in order.
    """

    def __init__(
        self,
        run_id: str,
        batch: Batch,
        budgets: Mapping[str, float],
        progress: Iterable[dict[str, Any]] = (),
    ) -> None:
        self.progress = list(progress)
        self.run_id = run_id
        self.batch = batch
        self.budgets = budgets
        self.n = 0
        self.submitted: str | None = None
        self._timeouts = 0
        self._submit_timeout: str | None = None
        self._submit_errors: set[tuple[Any, ...]] = set()

    def turn(self, turn: int, record: TurnRecord) -> None:
        """The tool calls of one turn, and what stands only among the function calls."""
        seq = 0
        for call in record.tool_calls or ():
            self._call(turn, seq, call, record)
            seq += 1
        for item in record.response or ():
            if item.name == EVOLVED:
                self._evolved(turn, seq, item.arguments)
                seq += 1
        if record.submitted_kernel and (sha := self.batch.kernel(record.submitted_kernel)):
            self.submitted = sha

    def _call(self, turn: int, seq: int, call: Call, record: TurnRecord) -> None:
        self.n += 1
        tool, text = call.tool_name or "unknown", call.result_text or ""
        metadata = call.metadata if isinstance(call.metadata, dict) else {}
        args = (
            dict(call.args)
            if isinstance(call.args, dict)
            else ({} if call.args is None else {"_raw": call.args})
        )
        kernel = self._kernel(args)
        if tool == SUBMIT:
            kernel = kernel or self.batch.kernel(record.submitted_kernel)
            self.submitted = kernel or self.submitted
        ok = call.success if call.success is not None else harness_words.verdict(text)
        found = (
            []
            if ok
            else list(
                timeouts.rows(
                    self.run_id, text, metadata, tool=tool, turn=turn, seq=seq, budgets=self.budgets
                )
            )
        )
        for row in found:
            self._timeouts += 1
            self.batch.add(row)
        self.batch.add(
            ToolCall(
                run_id=self.run_id,
                turn=turn,
                seq=seq,
                tool=tool,
                ok=ok,
                outcome=_outcome(ok, text, metadata, timed_out=bool(found)),
                kernel_sha256=kernel,
                args=args,
                result_text=text or None,
                metadata=metadata,
            )
        )
        errors = self._diagnostics(turn, seq, text, metadata, ok=bool(ok))
        if tool == SUBMIT:
            self._submit_errors = {_content(e) for e in errors}
            self._submit_timeout = found[0].message if found else None
        self._metrics(turn, seq, tool, metadata)

    def _kernel(self, args: dict[str, Any]) -> str | None:
        """The kernel's hash, its text taken out of the arguments; a cut text stays there."""
        for name in KERNEL_ARGS:
            if isinstance(args.get(name), str):
                sha = self.batch.kernel(args[name])
                if sha is not None or not args[name].strip():
                    del args[name]
                return sha
        return None

    def _diagnostics(
        self, turn: int, seq: int, text: str, metadata: Mapping[str, Any], *, ok: bool
    ) -> list[CompileError]:
        if ok and "warning" not in text:
            return []
        rows = diagnostics.rows(
            self.run_id, text, building=not ok and _building(text), turn=turn, seq=seq
        )
        hidden = metadata.get("compilation_error")
        if not rows and not ok and isinstance(hidden, str):
            rows = diagnostics.rows(self.run_id, hidden, building=True, turn=turn, seq=seq)
        self.batch.extend(rows)
        return rows

    def _metrics(self, turn: int, seq: int, tool: str, metadata: Mapping[str, Any]) -> None:
        if not metadata:
            return
        found = list(metrics.rows(self.run_id, metadata, turn=turn, seq=seq))
        if tool == "profile_kernel":
            found += metrics.profile_rows(self.run_id, metadata, turn=turn, seq=seq)
        if found:
            self.batch.extend(metrics.once(found))

    def _evolved(self, turn: int, seq: int, arguments: Any) -> None:
        """One candidate of the evolutionary search: its verdict stands among its own arguments."""
        self._candidate(turn, seq, _arguments(arguments))

    def rest(self, turns: Sequence[TurnRecord]) -> None:
        """Candidates that stand only in the progress file: they belong to the last turn."""
        if not self.progress:
            return
        turn = max((t.turn_id for t in turns if t.turn_id is not None), default=max(len(turns) - 1, 0))
        last = turns[-1] if turns else None
        seq = 0 if last is None else len(last.tool_calls or ()) + sum(i.name == EVOLVED for i in last.response or ())
        for line in self.progress[:]:
            self._candidate(turn, seq, _from_progress(line))
            seq += 1

    def _noted(self, args: dict[str, Any]) -> None:
        """Complete a candidate from its line of the progress file, which also holds its source."""
        program = args.get("_program")
        at = next((i for i, line in enumerate(self.progress) if line.get("program_name") == program), None)
        if at is not None:
            args.update({k: v for k, v in _from_progress(self.progress.pop(at)).items() if args.get(k) is None})

    def _candidate(self, turn: int, seq: int, args: dict[str, Any]) -> None:
        """One candidate as a tool call."""
        self._noted(args)
        kernel = self._kernel(args)
        outcome = args.get("_outcome")
        ok = None if outcome is None else outcome == "correct"
        error = args.get("_error")
        text = error if isinstance(error, str) and error else (str(outcome) if outcome is not None else None)
        self.batch.add(
            ToolCall(
                run_id=self.run_id,
                turn=turn,
                seq=seq,
                tool=EVOLVED,
                ok=ok,
                outcome=None if ok is None else ("passed" if ok else "failed"),
                kernel_sha256=kernel,
                args=args,
                result_text=text,
                duration_s=metrics.number(args.get("_elapsed_s")),
            )
        )
        if isinstance(error, str) and error and not ok:
            for row in diagnostics.rows(self.run_id, error, building=True, turn=turn, seq=seq):
                self.batch.add(row)

    def llm_timeout(self, turn: int, words: str, elapsed_s: float | None) -> None:
        """The call to the model ran into its limit."""
        self._timeouts += 1
        self.batch.add(
            Timeout(
                run_id=self.run_id, turn=turn, scope="llm", budget_s=None, elapsed_s=elapsed_s, message=words
            )
        )

    def final(
        self,
        result: Mapping[str, Any],
        metadata: Mapping[str, Any],
        *,
        outcome: str | None,
        wall_s: float | None,
    ) -> None:
        """What the final result tells beyond the calls: a re-evaluation's errors, a sweep's time-out."""
        for key in ("compilation_error", "runtime_error", "error"):
            text = metadata.get(key)
            if not isinstance(text, str):
                continue
            found = list(timeouts.rows(self.run_id, text, metadata, budgets=self.budgets))
            if found:
                # the final result of a run repeats its last submission; a re-evaluation has its own
                if found[0].message != self._submit_timeout:
                    self._timeouts += 1
                    self.batch.add(found[0])
                return
        if outcome == "timeout" and not self._timeouts:
            self.batch.add(
                Timeout(
                    run_id=self.run_id,
                    scope="work_item",
                    budget_s=self.budgets.get("work_item"),
                    elapsed_s=wall_s,
                    message="the source's outcome is timeout",
                )
            )
        text = metadata.get("compilation_error")
        if isinstance(text, str) and result.get("compiled") is not True:
            rows = diagnostics.rows(self.run_id, text, building=True)
            if not {_content(r) for r in rows} <= self._submit_errors:
                for row in rows:
                    self.batch.add(row)


def _building(text: str) -> bool:
    """Whether an answer is about building or importing the kernel, and not about running it."""
    return bool(_BUILDING.match(text)) or "Error building extension '" in text


def _content(e: CompileError) -> tuple[Any, ...]:
    return e.toolchain, e.severity, e.file, e.line, e.message


def _arguments(raw: Any) -> dict[str, Any]:
    """A function call's arguments: JSON text, itself a JSON string in the file."""
    try:
        text = msgspec.json.decode(raw) if isinstance(raw, msgspec.Raw) else raw
        args = msgspec.json.decode(text) if isinstance(text, str) else text
    except msgspec.MsgspecError:
        return {"_raw": text if isinstance(text, str) else None}
    return dict(args) if isinstance(args, dict) else {"_raw": args}


def _from_progress(line: Mapping[str, Any]) -> dict[str, Any]:
    """A line of a progress file in the words of the function call."""
    correct, compiled = line.get("correct"), line.get("compiled")
    outcome = "correct" if correct is True else "compile_fail" if compiled is False else "incorrect"
    args = {
        "_outcome": None if correct is None and compiled is None else outcome,
        "_speedup": line.get("speedup"),
        "_elapsed_s": line.get("elapsed_s"),
        "_program": line.get("program_name"),
        "_error": line.get("error"),
        "_index": line.get("idx"),
        "kernel_src": line.get("kernel_src"),
    }
    return {k: v for k, v in args.items() if v is not None}


def _outcome(ok: bool | None, text: str, metadata: Mapping[str, Any], *, timed_out: bool) -> str | None:
    if ok:
        return "passed"
    if (
        metadata.get("skipped")
        or str(metadata.get("error")) in _REFUSED
        or text.startswith(
            ("Tool call limit reached", "Tool call arguments could not be parsed", "Unknown tool ")
        )
    ):
        return "refused"
    if timed_out:
        return "timeout"
    if harness_words.failed_by_itself(text):
        return "error"
    return None if ok is None else "failed"
