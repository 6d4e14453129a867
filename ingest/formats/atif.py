"""ATIF trajectories (Harbor): trajectory.json, with reward.json beside it.

results/jobs/{model}/{sampleN}/{task}/trajectory.json   a published set of results
{job}/{task}__{trial}/agent/trajectory.json             a job folder of Harbor's own

Dozens of agents write the format. A long trajectory goes on in further files, which the first names;
these and the trajectories of subagents (`trajectory.*.json`) belong to the first and are no runs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode, identity
from kbstats.ingest.batch import OK
from kbstats.ingest.format import CONTENT, EXACT, NAME, NO, Format, Source
from kbstats.ingest.formats.agent_transcript import Conversation, mapping, text_of
from kbstats.ingest.formats.atif_records import Call, Result, Step, Trajectory
from kbstats.ingest.formats.atif_reward import Reward
from kbstats.ingest.lenient import build, point
from kbstats.ingest.rows import Run
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from kbstats.ingest.batch import Batch

SUITE = "harbor"
EXPORT_MARK = b'"kbstats.export/1"'
TRAJECTORY, REWARD, RESULT = "trajectory.json", "reward.json", "result.json"
_SCHEMA = re.compile(rb'"schema_version"\s*:\s*"ATIF-')
_SAMPLE = re.compile(r"sample[_-]?(?P<number>\d{1,9})")
_TRIAL = re.compile(r"(?P<task>.+)__(?P<trial>[A-Za-z0-9]+)")
_PART = re.compile(r"trajectory[._-].+\.json")
_MAX_PARTS = 100


class Atif(Format):
    """One run a trajectory."""

    name = "atif"
    suffixes = frozenset({".json"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By the schema's name; without one by the file's name and keys, or a reward beside it."""
        if _PART.fullmatch(path.name) and path.with_name(TRAJECTORY).is_file():
            return NO
        if _SCHEMA.search(head):
            return NO if EXPORT_MARK in head else EXACT  # kbstats' own export holds the whole records
        if path.name != TRAJECTORY:
            return NO
        if b'"steps"' in head and (b'"agent"' in head or b'"step_id"' in head):
            return CONTENT
        return NAME if path.with_name(REWARD).is_file() and not head.strip() else NO

    def companions(self, path: Path) -> Iterable[Path]:
        """Reward and result, and the trajectory's further parts."""
        beside = [path.with_name(REWARD), path.with_name(RESULT)]
        if path.parent.name == "agent":
            beside += [path.parent.parent / "verifier" / REWARD, path.parent.parent / RESULT]
        yield from (p for p in beside if p.is_file())
        if path.name == TRAJECTORY:
            yield from (p for p in path.parent.iterdir() if _PART.fullmatch(p.name) and p.is_file())

    def read(self, source: Source, batch: Batch) -> None:
        """One run. A trajectory cut short is kept if the reward beside it tells the outcome."""
        try:
            record, unknown = decode.typed(source.read(), Trajectory, batch)
        except decode.UnreadableError as e:
            if e.code == "not_json":
                batch.reject(e.code, e.message, location=e.location)
                return
            batch.partial(e.code, e.message, location=e.location)
            whole = decode.whole_entries(e.text) if e.text else {}
            record, unknown = build(Trajectory, whole, decode.report_to(batch)), {}
        reader = _Reader(source, batch, record, unknown)
        if batch.status == OK and record.steps is None and record.schema_version is None:
            batch.reject("not_a_trajectory", "the document has none of the keys of a trajectory")
        elif batch.status == OK or reader.reward is not None:
            reader.read()


FORMAT = Atif()


class _Place:
    """What the path tells."""

    def __init__(self, path: Path) -> None:
        folders = list(reversed(path.parts[:-1]))
        self.suite, self.model, self.sample, self.sweep = SUITE, None, None, None
        self.task: str | None = None
        folders += [""] * 6
        if folders[0] == "agent":
            m = _TRIAL.fullmatch(folders[1])
            self.task = m["task"] if m else folders[1] or None
            self.sweep = f"{folders[2]}/{folders[1]}" if folders[2] else None
            return
        self.task = folders[0] or None
        if m := _SAMPLE.fullmatch(folders[1]):
            self.sample = max(int(m["number"]) - 1, 0)
            self.model = folders[2] or None
            if folders[3:5] == ["jobs", "results"] and folders[5] and not folders[5].startswith(("/", "\\")):
                self.suite = folders[5]


class _Reader:
    """One trajectory on its way into the batch."""

    def __init__(self, source: Source, batch: Batch, record: Trajectory, unknown: dict[str, Any]) -> None:
        self.source, self.batch, self.t, self.unknown = source, batch, record, unknown
        self.place = _Place(source.path)
        document = self._companion(REWARD)
        self.reward = Reward(document, self._report(REWARD)) if document is not None else None
        self.talk = Conversation(batch, shell_is_silent=True)
        self.models: list[str] = []
        self.cost: float | None = None
        self.subagents: list[Any] = []

    def _report(self, name: str) -> Any:
        path = self.source.companion(name)

        def report(code: str, message: str, location: str) -> None:
            self.batch.issue(code, message, location=location or "/", path=str(path))

        return report

    def _companion(self, name: str) -> dict[str, Any] | None:
        """A companion's JSON object; one that cannot be read is an issue."""
        path = self.source.companion(name)
        if path is None:
            return None
        try:
            found = decode.untyped(self.source.read(path), self.batch)
        except (OSError, decode.UnreadableError) as e:
            self.batch.issue("unreadable_companion", f"cannot be read: {str(e)[:200]}", path=str(path))
            return None
        return found if isinstance(found, dict) else None

    def read(self) -> None:
        """Fill the batch."""
        for i, step in self._steps():
            self._step(step, f"/steps/{i}")
        agent = self.t.agent
        named = agent.model_name if agent else None
        model = self.place.model or named or (self.models[0] if self.models else None)
        session = self.t.session_id or self.t.trajectory_id
        columns = {
            "suite": self.place.suite,
            "sweep": self.place.sweep or (None if self.place.sample is not None else session),
            "variant": None, "model_raw": model, "level": None, "problem_id": None, "problem_name": self.place.task,
            "sample_id": self.place.sample, "harness": (agent.name if agent else None) or SUITE,
        }
        run_id = identity.run_id(**columns)
        kernel = self.talk.solution()
        self.batch.add(self._run(run_id, columns, kernel))
        self.talk.close(run_id)
        if self.reward is not None:
            for row in self.reward.metrics(run_id):
                self.batch.add(row)
            self.reward.evidence(run_id, self.batch)

    def _steps(self) -> Iterator[tuple[int, Step]]:
        """The steps of the trajectory and of the files in which it goes on; copied context comes once."""
        record, seen = self.t, {self.source.path.name}
        for part in range(_MAX_PARTS):
            for i, step in enumerate(record.steps or ()):
                if not (part and step.is_copied_context):
                    yield i, step
            name = (record.continued_trajectory_ref or "").replace("\\", "/").rsplit("/", 1)[-1]
            path = self.source.companion(name) if name and name not in seen else None
            if path is None:
                if name and name not in seen:
                    self.batch.issue("missing_part", f"the trajectory goes on in {name[:80]!r}, which is not there",
                                     location="/continued_trajectory_ref")
                return
            seen.add(name)
            try:
                record, _ = decode.typed(self.source.read(path), Trajectory, self.batch)
            except (OSError, decode.UnreadableError) as e:
                self.batch.issue("unreadable_companion", f"cannot be read: {str(e)[:200]}", path=str(path))
                return

    def _step(self, step: Step, pointer: str) -> None:
        self.talk.at(utc(step.timestamp, self.batch, point(pointer, "timestamp")))
        results = (step.observation.results if step.observation else None) or []
        if step.source != "agent":
            self.talk.hear("system" if step.source == "system" else "user", text_of(step.message))
            for result in results:  # a system's own doings: compaction, a subagent it started
                self._refs(result)
                self.talk.hear("system", text_of(result.content))
            return
        if step.model_name:
            self.models.append(step.model_name)
        turn = self.talk.turn()
        self.talk.say("reasoning", step.reasoning_content, turn)
        self.talk.say("assistant", text_of(step.message), turn)
        if metrics := step.metrics:
            self.talk.tokens(turn, metrics.prompt_tokens or None, metrics.completion_tokens or None)
            if metrics.cost_usd is not None:
                self.cost = (self.cost or 0.0) + metrics.cost_usd
        self._calls(step.tool_calls or [], results)

    def _calls(self, calls: list[Call], results: list[Result]) -> None:
        """The calls of a step and their results. A result that names no call belongs to the only call there is."""
        rows = []
        for call in calls:
            row = self.talk.call(call.function_name, call.arguments, call.tool_call_id)
            if isinstance(call.extra, dict) and call.extra:
                row.metadata = {"call": call.extra}
            rows.append(row)
        own = {c.tool_call_id for c in calls if c.tool_call_id}
        for result in results:
            self._refs(result)
            known = result.source_call_id in own if result.source_call_id else False
            only = rows[0] if len(rows) == 1 else None
            asked = self.talk.called(result.source_call_id) if known else only
            if result.content is None and not result.extra:
                continue
            extra = mapping(result.extra)
            failed = extra.get("is_error")
            self.talk.answer(asked, result.content, ok=not failed if isinstance(failed, bool) else None)
            if asked is not None and extra:
                asked.metadata = {**mapping(asked.metadata), "result": extra}

    def _refs(self, result: Result) -> None:
        refs = result.subagent_trajectory_ref
        self.subagents += refs if isinstance(refs, list) else [refs] if refs else []

    def _run(self, run_id: str, columns: dict[str, Any], kernel: str | None) -> Run:
        talk, reward = self.talk, self.reward
        speedup, baseline = reward.speedup(run_id, self.batch) if reward else (None, None)
        tokens = self._tokens()
        final = self.t.final_metrics
        cost = final.total_cost_usd if final and final.total_cost_usd is not None else self.cost
        return Run(
            run_id=run_id, source_id=self.source.source_id, format=FORMAT.name, **columns,
            model=identity.model_of(columns["model_raw"]), n_turns=None if self.t.steps is None else len(talk.turns),
            n_tool_calls=None if self.t.steps is None else len(talk.calls),
            started_at=talk.started_at, finished_at=talk.finished_at, wall_s=talk.wall_s, input_tokens=tokens[0],
            output_tokens=tokens[1], total_tokens=tokens[2], cost_usd=cost,
            source_outcome=reward.outcome if reward else None, compiled=reward.compiled if reward else None,
            correct=reward.correct if reward else None, speedup=speedup, baseline=baseline,
            submitted_kernel_sha256=kernel, extra=self._extra(),
        )

    def _tokens(self) -> tuple[int | None, int | None, int | None]:
        """The file's own totals; else the sums of its steps. 0 of a run with steps is unknown."""
        final = self.t.final_metrics
        told = (final.total_prompt_tokens, final.total_completion_tokens) if final else (None, None)
        if any(told) or (not self.talk.turns and told != (None, None)):
            return told[0] or None, told[1] or None, sum(t or 0 for t in told)
        return self.talk.summed()

    def _extra(self) -> dict[str, Any]:
        t = self.t
        extra: dict[str, Any] = {**self.unknown}
        for key in ("schema_version", "session_id", "trajectory_id", "notes", "extra", "continued_trajectory_ref"):
            if (value := getattr(t, key)) not in (None, "", {}):
                extra[key] = value
        if t.agent is not None:
            agent = {k: getattr(t.agent, k) for k in ("name", "version", "model_name", "extra")}
            extra["agent"] = {k: v for k, v in agent.items() if v not in (None, {})}
        if t.final_metrics is not None:
            extra["final_metrics"] = {k: v for k, v in msgspec.structs.asdict(t.final_metrics).items() if v is not None}
        models = sorted(set(self.models))
        if models:
            extra["models"] = models
        if self.subagents:
            extra["subagent_refs"] = self.subagents
        if isinstance(t.subagent_trajectories, list) and t.subagent_trajectories:
            extra["subagent_trajectories"] = t.subagent_trajectories
        if (result := self._companion(RESULT)) is not None:
            extra["result"] = result
        return extra | (self.reward.extra() if self.reward else {})
