"""KernelBench-Agentic: gen_results.json with one or several turns a problem; summary.json beside it.

`{meta, levels: {level: {problem: {turns: [...], final_eval, ...}}}}`. A zero-shot file has no turns and
no verdict: `status` is that of the generation, the verdicts stand in the summary. The analysis files
hold rates only and are not read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode, identity
from kbstats.ingest.format import CONTENT, EXACT, NAME, NO, Format, Source
from kbstats.ingest.formats.exec_result import (
    ExecResult,
    add_evidence,
    failure_text,
    kept,
    located,
    mapping,
    read_result,
)
from kbstats.ingest.lenient import build, known_keys, point
from kbstats.ingest.rows import Message, Run, ToolCall, Turn
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from kbstats.ingest.batch import Batch

NAME_ = "kernelbench_agentic"
RESULTS, SUMMARY = "gen_results.json", "summary.json"
SUBMIT, EVALUATE = "submit", "evaluate"
"""The harness evaluates every turn and hands in the best one: that turn's call is the submission."""
_MODES = {"zero_shot": "single", "zeroshot": "single"}


class TurnRecord(msgspec.Struct):
    """One generation and its evaluation."""

    turn: int | None = None
    prompt_kind: str | None = None
    raw_response: str | None = None
    extracted_code: str | None = None
    eval: Any = None
    feedback: str | None = None
    status: str | None = None
    candidates: Any = None
    diagnosis: Any = None


class ProblemRecord(msgspec.Struct):
    """One problem."""

    problem_id: int | None = None
    problem_name: str | None = None
    prompt: str | None = None
    base_prompt: str | None = None
    raw_response: str | None = None
    extracted_code: str | None = None
    status: str | None = None
    turns: list[TurnRecord] | None = None
    num_turns: int | None = None
    final_turn: int | None = None
    final_status: str | None = None
    final_eval: Any = None
    generated_at: str | None = None


class KernelBenchAgentic(Format):
    """Generations with their turns; the verdicts of the summary where the file has none."""

    name = NAME_
    suffixes = frozenset({".json"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By the file's name and its two top keys."""
        marked = b'"meta"' in head and b'"levels"' in head and b'"method"' in head
        if path.name == RESULTS:
            return EXACT if marked else NAME
        return CONTENT if marked and b'"reference_arch_path"' in head else NO

    def companions(self, path: Path) -> Iterable[Path]:
        """The summary."""
        summary = path.with_name(SUMMARY)
        if summary.is_file():
            yield summary

    def read(self, source: Source, batch: Batch) -> None:
        """One run a problem. Of a file cut short nothing: its last problem is incomplete anywhere."""
        try:
            document = decode.untyped(source.read(), batch)
        except decode.UnreadableError as e:
            if e.code == "not_json":
                batch.reject(e.code, e.message, location=e.location)
            else:
                batch.partial(e.code, e.message, location=e.location)
            return
        if not isinstance(document, dict) or not isinstance(document.get("levels"), dict):
            batch.reject("not_results", "the document has no object `levels`")
            return
        reader = _Reader(source, batch, mapping(document.get("meta")))
        for level, problem, pointer, record in _problems(document["levels"], batch):
            reader.take(level, problem, pointer, record)
        reader.missing()


FORMAT = KernelBenchAgentic()


def _problems(levels: Mapping[str, Any], batch: Batch) -> Iterator[tuple[str, str, str, dict[str, Any]]]:
    for level, problems in levels.items():
        for problem, record in mapping(problems).items():
            pointer = point(point("/levels", level), problem)
            if isinstance(record, dict):
                yield level, problem, pointer, record
            else:
                batch.issue("type_dropped", "expected a problem's object; left out", location=pointer)


def _int(value: Any) -> int | None:
    """A level or a problem's number, also written as text."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int) and abs(value) < 2**63:
        return value
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else None


class _Reader:
    """Problems of one file on their way into the batch."""

    def __init__(self, source: Source, batch: Batch, meta: dict[str, Any]) -> None:
        self.source, self.batch, self.meta = source, batch, meta
        self.summary = self._summary()
        self.verdicts = (
            {
                (_int(p.get("level")), _int(p.get("problem_id"))): p
                for p in (self.summary.get("per_problem") or ())
                if isinstance(p, dict)
            }
            if isinstance(self.summary.get("per_problem"), list)
            else {}
        )
        self.taken: set[tuple[int | None, int | None]] = set()
        self.method = self._text("method")

    def _text(self, key: str) -> str | None:
        value = self.meta.get(key)
        return value if isinstance(value, str) and value else None

    def _summary(self) -> dict[str, Any]:
        path = self.source.companion(SUMMARY)
        if path is None:
            return {}
        try:
            return mapping(decode.untyped(self.source.read(path), self.batch))
        except (OSError, decode.UnreadableError) as e:
            self.batch.issue("unreadable_companion", f"cannot be read: {e}", path=str(path))
            return {}

    def take(self, level_key: str, problem_key: str, pointer: str, document: dict[str, Any]) -> None:
        """One problem."""
        r: ProblemRecord = build(ProblemRecord, document, located(self.batch, pointer))
        level = _int(level_key)
        problem_id = r.problem_id if r.problem_id is not None else _int(problem_key)
        self.taken.add((level, problem_id))
        columns = {
            "suite": identity.KERNELBENCH,
            "sweep": self.source.path.parent.name or self.method,
            "variant": identity.DEFAULT_VARIANT,
            "model_raw": self._text("model"),
            "level": level,
            "problem_id": problem_id,
            "problem_name": r.problem_name,
            "sample_id": _int(self.meta.get("sample_id")) or 0,
            "harness": NAME_,
        }
        run_id = identity.run_id(**columns)
        if self.batch.has_run(run_id):
            self.batch.issue("duplicate_run", "the same problem again; the first is kept", location=pointer)
            return
        verdict = self.verdicts.get((level, problem_id), {})
        result = mapping(r.final_eval)
        final = read_result(result, located(self.batch, f"{pointer}/final_eval"))
        if isinstance(result.get("error"), str):
            final.metadata.setdefault("error", result["error"])
        if not result:
            final = read_result(
                {**verdict, "correctness": verdict.get("correct")},
                located(self.batch, f"{pointer} (summary)"),
                runtime="runtime_ms",
                ref="ref_runtime_ms",
            )
        turns = r.turns or self._single(r)
        told = any(t.eval == r.final_eval for t in turns)
        add_evidence(self.batch, run_id, result, final.metadata, compiled=final.compiled, told=told)
        self._turns(run_id, pointer, r, turns)
        unknown = {k: v for k, v in document.items() if k not in known_keys(ProblemRecord)}
        self.batch.add(self._run(run_id, columns, r, final=final, verdict=verdict, turns=turns, unknown=unknown))

    @staticmethod
    def _single(r: ProblemRecord) -> list[TurnRecord]:
        """A zero-shot answer is a single turn."""
        if not r.raw_response and not r.extracted_code:
            return []
        return [TurnRecord(turn=0, prompt_kind="initial", raw_response=r.raw_response, extracted_code=r.extracted_code)]

    def _turns(self, run_id: str, pointer: str, r: ProblemRecord, turns: list[TurnRecord]) -> None:
        last = -1
        for i, t in enumerate(turns):
            n = t.turn if t.turn is not None and last < t.turn < 2**31 else max(i, last + 1)
            last = n
            final = n == r.final_turn if r.final_turn is not None else i == len(turns) - 1
            self.batch.add(Turn(run_id=run_id, turn=n, is_final=final, feedback=t.feedback or None))
            said = [("user", r.prompt or r.base_prompt)] if i == 0 else []
            said += [("assistant", t.raw_response), ("feedback", t.feedback)]
            for seq, (kind, text) in enumerate((k, x) for k, x in said if x):
                self.batch.add(Message(run_id=run_id, turn=n, seq=seq, kind=kind, text=text))
            if t.eval is not None or t.status is not None:
                self._call(run_id, n, t, f"{pointer}/turns/{i}/eval", submit=final)

    def _call(self, run_id: str, turn: int, t: TurnRecord, where: str, *, submit: bool) -> None:
        """A turn's evaluation as the tool call it is."""
        evaluated = mapping(t.eval)
        result = read_result(evaluated, located(self.batch, where))
        metadata = result.metadata
        if isinstance(evaluated.get("error"), str):
            metadata.setdefault("error", evaluated["error"])
        ok = result.correct if t.status is None else t.status == "correct"
        timed_out = add_evidence(self.batch, run_id, evaluated, metadata, compiled=result.compiled, turn=turn, seq=0)
        text = "\n".join(x for x in (None if ok else failure_text(metadata), t.feedback) if x)
        self.batch.add(
            ToolCall(
                run_id=run_id,
                turn=turn,
                seq=0,
                tool=SUBMIT if submit else EVALUATE,
                ok=ok,
                outcome=None if ok is None else "passed" if ok else "timeout" if timed_out else "failed",
                kernel_sha256=self.batch.kernel(t.extracted_code),
                args=kept({"prompt_kind": t.prompt_kind}) or None,
                result_text=text or None,
                metadata=kept(
                    {
                        **metadata,
                        "status": t.status,
                        "compiled": result.compiled,
                        "correctness": result.correct,
                        "runtime": evaluated.get("runtime"),
                        "ref_runtime": evaluated.get("ref_runtime"),
                        "candidates": t.candidates,
                        "diagnosis": t.diagnosis,
                    }
                )
                or None,
            )
        )

    def _run(
        self,
        run_id: str,
        columns: dict[str, Any],
        r: ProblemRecord,
        *,
        final: ExecResult,
        verdict: dict[str, Any],
        turns: list[TurnRecord],
        unknown: dict[str, Any],
    ) -> Run:
        speedup = final.speedup
        if not mapping(r.final_eval):
            speedup = self.batch.speedup(verdict.get("speedup"), run_id, correct=final.correct, measured=speedup)
        hardware = final.hardware or self.summary.get("hardware")
        code = r.extracted_code or next((t.extracted_code for t in turns if t.turn == r.final_turn), None)
        calls = sum(1 for t in turns if t.eval is not None or t.status is not None)
        max_turns = _int(self.meta.get("max_turns"))
        return Run(
            run_id=run_id,
            source_id=self.source.source_id,
            format=NAME_,
            **columns,
            mode=_MODES.get(self.method or "", self.method),
            model=identity.model_of(columns["model_raw"]),
            backend=self._text("backend"),
            precision=self._text("precision"),
            hardware=hardware if isinstance(hardware, str) else None,
            max_turns=max_turns,
            n_turns=r.num_turns if r.num_turns is not None else len(turns) or None,
            n_tool_calls=calls,
            finished_at=utc(r.generated_at, self.batch, "generated_at"),
            source_outcome=r.final_status,
            compiled=final.compiled,
            correct=final.correct,
            runtime_us=final.runtime_us,
            ref_runtime_us=final.ref_runtime_us,
            speedup=speedup,
            baseline="eager" if speedup is not None else None,
            submitted_kernel_sha256=self.batch.kernel(code),
            extra=kept(
                {
                    **unknown,
                    "metadata": final.metadata,
                    "status": r.status,
                    "final_turn": r.final_turn,
                    "category": verdict.get("category"),
                    "meta": {
                        k: v
                        for k in ("method", "best_of_n", "agents", "rag_backend", "dtype", "prompt_option")
                        if (v := self.meta.get(k)) is not None
                    },
                }
            ),
        )

    def missing(self) -> None:
        """Problems that the summary judges and the results lack: their worker died, nothing was generated."""
        lost = sorted(f"{level}/{problem}" for level, problem in set(self.verdicts) - self.taken if problem is not None)
        if lost:
            self.batch.issue(
                "missing_problem",
                f"{len(lost)} problems of the summary are not in the results: {', '.join(lost)[:300]}",
                location="/levels",
            )
