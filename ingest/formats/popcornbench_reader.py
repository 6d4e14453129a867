"""A trajectory document on its way into the batch, whether it stood in a file of its own or on a page."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import identity, jsonlines, metrics, references, timeouts
from kbstats.ingest.formats.popcornbench_calls import Calls
from kbstats.ingest.formats.popcornbench_records import EXTRA, Trajectory, TurnRecord, Usage
from kbstats.ingest.formats.popcornbench_text import messages_of, opening_messages
from kbstats.ingest.rows import Run, Turn
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source

NAME = re.compile(r"level_(?P<level>\d+)_problem_(?P<problem>\d+)_trajectory\.json")
SWEEP_CONFIG = "sweep_config.json"
PROGRESS = "_aeprogress.jsonl"


class Reader:
    """One trajectory on its way into the batch.

    Args:
        source: The file it stands in.
        batch: Takes the records.
        record: The document.
        unknown: Its keys that nobody declared.
        format_name: The format that found it.
    """

    def __init__(
        self,
        source: Source,
        batch: Batch,
        record: Trajectory,
        unknown: dict[str, Any],
        format_name: str = identity.POPCORNBENCH,
    ) -> None:
        self.source = source
        self.format_name = format_name
        self.batch = batch
        self.t = record
        self.unknown = unknown
        self.result: Mapping[str, Any] = record.final_result or {}
        metadata = self.result.get("metadata")
        self.metadata: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
        self.config = self._config()
        self.place = identity.place_of(source.path, record.run_name, record.model_name)
        self._shown: str | None = None

    def _config(self) -> Mapping[str, Any]:
        """The sweep's configuration; an unreadable one is an issue and tells nothing."""
        path = self.source.companion(SWEEP_CONFIG)
        if path is None:
            return {}
        try:
            config = msgspec.json.decode(self.source.read(path))
        except (OSError, msgspec.MsgspecError) as e:
            self.batch.issue("unreadable_companion", f"cannot be read: {e}", path=str(path))
            return {}
        return config if isinstance(config, dict) else {}

    def read(self) -> None:
        """Fill the batch."""
        t, batch = self.t, self.batch
        level, problem_id = self._numbers()
        columns = {
            "suite": identity.POPCORNBENCH,
            "sweep": t.run_name or self.place.sweep,
            "variant": self.place.variant,
            "model_raw": t.model_name or self.place.model,
            "level": level,
            "problem_id": problem_id,
            "problem_name": self._problem_name(),
            "sample_id": 0,
            "harness": identity.POPCORNBENCH,
        }
        run_id = identity.run_id(**columns)
        calls = Calls(run_id, batch, self._budgets(), self._progress())
        turns = t.turns or []
        self._turns(run_id, turns, calls)
        calls.rest(turns)
        calls.final(self.result, self.metadata, outcome=t.outcome, wall_s=t.agent_wall_clock_s)
        for row in metrics.once(metrics.rows(run_id, self.result)):
            batch.add(row)
        run = self._run(run_id, columns, turns, calls)
        run.reference_sha256 = self._reference(columns)
        batch.add(run)

    def reference(self) -> str | None:
        """The source of the problem's reference, where it is certain: the one that the prompt shows."""
        return self._shown

    def _reference(self, columns: dict[str, Any]) -> str | None:
        """Its sha256, after it was put among the problems."""
        source = self.reference()
        if source is None:
            return None
        place = {k: columns[k] for k in ("suite", "level", "variant", "problem_id", "problem_name")}
        return references.add_problem(self.batch, source, **place)

    def _progress(self) -> list[dict[str, Any]]:
        """What an evolutionary search wrote down beside the trajectory, one candidate a line."""
        path = next((p for p in self.source.companions if p.name.endswith(PROGRESS)), None)
        if path is None:
            return []
        try:
            return [line for _, line in jsonlines.objects(self.source.read(path), self.batch.beside(path))]
        except OSError as e:
            self.batch.issue("unreadable_companion", f"cannot be read: {e.strerror or e}", path=str(path))
            return []

    def _numbers(self) -> tuple[int | None, int | None]:
        m = NAME.fullmatch(self.source.path.name)
        level, problem_id = self.t.level, self.t.problem_id
        if m and (level is None or problem_id is None):
            level = int(m["level"]) if level is None else level
            problem_id = int(m["problem"]) if problem_id is None else problem_id
        return level, problem_id

    def _problem_name(self) -> str | None:
        """A skip marker writes "(skipped)" where the name should stand."""
        name = self.t.problem_name
        return None if not name or name == "(skipped)" else name

    def _budgets(self) -> dict[str, float]:
        parallelism = self.config.get("parallelism")
        limit = (
            metrics.positive(parallelism.get("worker_timeout_s")) if isinstance(parallelism, dict) else None
        )
        return {} if limit is None else {"work_item": limit}

    def _turns(self, run_id: str, turns: list[TurnRecord], calls: Calls) -> None:
        last = -1
        for i, record in enumerate(turns):
            turn = (
                record.turn_id if record.turn_id is not None and record.turn_id > last else max(i, last + 1)
            )
            last = turn
            usage = record.llm_usage or Usage()
            tokens_in = _told(usage.input_tokens, usage.prompt_tokens)
            tokens_out = _told(usage.output_tokens, usage.completion_tokens)
            self.batch.add(
                Turn(
                    run_id=run_id,
                    turn=turn,
                    llm_s=record.llm_latency_s,
                    tools_s=record.tools_wall_clock_s,
                    wall_s=record.turn_wall_clock_s,
                    input_tokens=tokens_in,
                    output_tokens=tokens_out,
                    total_tokens=_told(usage.total_tokens, _sum(tokens_in, tokens_out)),
                    is_final=record.is_final,
                    provider_truncated=record.provider_truncated,
                    feedback=record.feedback_to_model or None,
                )
            )
            said = opening_messages(run_id, turn, record.messages_in, self.batch) if i == 0 else []
            if i == 0:
                shown = (references.in_prompt(m.text) for m in said if m.kind == "user")
                self._shown = next((s for s in shown if s), None)
            said += messages_of(run_id, turn, record, len(said))
            self.batch.extend(said)
            calls.turn(turn, record)
            if record.feedback_to_model and (words := timeouts.in_feedback(record.feedback_to_model)):
                calls.llm_timeout(turn, words, record.llm_latency_s)

    def _run(self, run_id: str, columns: dict[str, Any], turns: list[TurnRecord], calls: Calls) -> Run:
        t = self.t
        runtime, ref = (
            metrics.positive(self.result.get(k), metrics.MS_TO_US) for k in ("runtime", "ref_runtime")
        )
        correct = _bool(self.result.get("correctness"))
        speedup = self.batch.speedup(
            _first(t.speedup, self.result.get("speedup"), self.metadata.get("speedup")),
            run_id,
            correct=correct,
            measured=ref / runtime if runtime and ref else None,
        )
        tokens = self._tokens(turns)
        return Run(
            run_id=run_id,
            source_id=self.source.source_id,
            format=self.format_name,
            **columns,
            mode=self._mode(),
            model=identity.model_of(columns["model_raw"]),
            backend=t.backend,
            precision=t.precision,
            hardware=self._hardware(),
            max_turns=t.max_turns,
            n_turns=_told(t.total_turns) or len(turns),
            n_tool_calls=_told(t.total_tool_calls, calls.n),
            started_at=utc(t.started_at, self.batch, "/started_at"),
            finished_at=utc(t.finished_at, self.batch, "/finished_at"),
            wall_s=t.agent_wall_clock_s,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            total_tokens=tokens[2],
            cost_usd=t.cost_usd,
            truncated=_any(t.truncation_occurred, t.chat_history_window_truncated),
            source_outcome=t.outcome,
            compiled=_bool(self.result.get("compiled")),
            correct=correct,
            runtime_us=runtime,
            ref_runtime_us=ref,
            speedup=speedup,
            baseline="eager" if speedup is not None else None,
            submitted_kernel_sha256=calls.submitted or self._kernel_file(),
            extra=self._extra(),
        )

    def _mode(self) -> str | None:
        """The sweep's name first; else its configuration; a run of one turn is `single`."""
        run = self.config.get("run")
        tools = run.get("tools") if isinstance(run, dict) else None
        named = identity.mode_of(self.t.run_name or self.place.sweep)
        if named is None and isinstance(tools, str):
            named = identity.mode_of(tools)
        return named or ("single" if self.t.max_turns == 1 else None)

    def _hardware(self) -> str | None:
        stats = self.result.get("runtime_stats")
        found = self.metadata.get("hardware") or (stats.get("hardware") if isinstance(stats, dict) else None)
        return found if isinstance(found, str) else None

    def _tokens(self, turns: list[TurnRecord]) -> tuple[int | None, int | None, int | None]:
        """The file's own totals, where 0 and -1 mean unknown; else the sums of its turns."""
        t = self.t
        tokens_in, tokens_out, total = (
            _told(n) or None for n in (t.llm_input_tokens, t.llm_output_tokens, t.llm_total_tokens)
        )
        if total or tokens_in or tokens_out:
            return tokens_in, tokens_out, total
        used = [u for u in (turn.llm_usage for turn in turns) if u is not None]
        tokens_in = sum(_told(u.input_tokens, u.prompt_tokens) or 0 for u in used) or None
        tokens_out = sum(_told(u.output_tokens, u.completion_tokens) or 0 for u in used) or None
        return tokens_in, tokens_out, sum(_told(u.total_tokens) or 0 for u in used) or _sum(tokens_in, tokens_out)

    def _kernel_file(self) -> str | None:
        """The kernel saved beside the trajectory: all there is where the calls are lost."""
        path = next((p for p in self.source.companions if p.name.endswith("_kernel.py")), None)
        if path is None:
            return None
        return self.batch.kernel(self.source.companion_text(path, self.batch))

    def _extra(self) -> dict[str, Any]:
        extra = {k: v for k in EXTRA if (v := getattr(self.t, k)) not in (None, [], "")}
        extra.update(self.unknown)
        if self.metadata:
            extra["metadata"] = dict(self.metadata)
        if rest := {k: v for k, v in self.result.items() if k not in {"metadata", "compiled", "correctness"}}:
            extra["final_result"] = rest
        if self.t.final_result is None:
            extra["final_result"] = None
        deployment = self.place.model
        if deployment and self.t.model_name and deployment != identity.safe(self.t.model_name):
            extra["model_folder"] = deployment
        if self.config:
            extra["sweep_config"] = {
                k: v for k, v in self.config.items() if k in {"run", "agent", "parallelism"}
            }
        return extra


def _first(*values: Any) -> Any:
    return next((v for v in values if v is not None), None)


def _told(*counts: int | None) -> int | None:
    """The first count that is one: -1 stands for unknown."""
    return next((n for n in counts if n is not None and n >= 0), None)


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


def _any(*flags: bool | None) -> bool | None:
    known = [f for f in flags if f is not None]
    return any(known) if known else None


def _bool(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
