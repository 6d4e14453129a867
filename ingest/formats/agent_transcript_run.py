"""The run that an agent's transcript tells of: who ran, at what, and where the folder says it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from kbstats.ingest import identity
from kbstats.ingest.format import Format, Source
from kbstats.ingest.formats.agent_transcript import Conversation
from kbstats.ingest.rows import Run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kbstats.ingest.batch import Batch

SUITE = "transcripts"
"""What a run belongs to whose path names no suite."""

RESULT, SOLUTIONS = "result.json", ("solution.py", "solution.cu")
_FOLDER = re.compile(
    r"(?P<time>\d{8}_\d{6})_(?P<harness>[^_]+)_(?P<model>.+?)_(?P<problem>(?P<number>\d{2})_[a-z][a-z0-9_]*)"
)


class Place(NamedTuple):
    """What a run folder tells: `{YYYYmmdd_HHMMSS}_{harness}_{model}_{NN_problem}`."""

    run: str
    harness: str
    model: str
    problem: str
    problem_id: int


def place_of(path: Path) -> Place | None:
    """The nearest folder above that is named like a run; None if there is none."""
    for folder in path.parents:
        if m := _FOLDER.fullmatch(folder.name):
            return Place(folder.name, m["harness"], m["model"], m["problem"], int(m["number"]))
    return None


class TranscriptFormat(Format):
    """Base of the agents' own transcripts: JSON lines, one file one run."""

    suffixes = frozenset({".jsonl", ".ndjson"})

    def companions(self, path: Path) -> Iterable[Path]:
        """The result beside it, for names that the folder's own name cannot hold; the final solution."""
        if place_of(path) is None:
            return
        for name in (RESULT, *SOLUTIONS):
            beside = path.with_name(name)
            if beside.is_file():
                yield beside


class Session:
    """What a reader gathers about one session, and the run that comes of it.

    Args:
        source: The transcript.
        batch: Takes the records.
        harness: The agent's name, where the folder gives no other.
    """

    def __init__(self, source: Source, batch: Batch, harness: str) -> None:
        self.source, self.batch, self.harness = source, batch, harness
        self.conversation = Conversation(batch)
        self.session_id: str | None = None
        self.model: str | None = None
        self.cost_usd: float | None = None
        self.wall_s: float | None = None
        self.tokens: tuple[int | None, int | None, int | None] | None = None
        self.truncated: bool | None = None
        self.events = 0
        self.extra: dict[str, Any] = {}

    def finish(self) -> None:
        """Close the conversation and add the run. A file without one event of its format is rejected."""
        if not self.events:
            if self.batch.status == "ok":
                self.batch.reject("no_events", "no line is an event of this format")
            return
        place = place_of(self.source.path)
        told = self._result() if place else {}
        model = told.get("model") or (place.model if place else self.model)
        if self.model and self.model != model:
            self.extra["model_in_transcript"] = self.model
        if self.session_id and place:
            self.extra["session_id"] = self.session_id
        columns: dict[str, Any] = {
            "suite": SUITE, "sweep": place.run if place else self.session_id or self.source.path.stem, "variant": None,
            "model_raw": model, "level": None, "problem_id": place.problem_id if place else None,
            "problem_name": told.get("problem") or (place.problem if place else None), "sample_id": None,
            "harness": told.get("harness") or (place.harness if place else self.harness),
        }
        run_id = identity.run_id(**columns)
        talk = self.conversation
        tokens = self.tokens or talk.summed()
        followed = talk.solution()
        kernel = self._solution_file() or followed
        self.batch.add(
            Run(
                run_id=run_id, source_id=self.source.source_id, format=self.harness, **columns,
                model=identity.model_of(model), n_turns=len(talk.turns), n_tool_calls=len(talk.calls),
                started_at=talk.started_at, finished_at=talk.finished_at,
                wall_s=self.wall_s if self.wall_s is not None else talk.wall_s, input_tokens=tokens[0],
                output_tokens=tokens[1], total_tokens=tokens[2], cost_usd=self.cost_usd, truncated=self.truncated,
                submitted_kernel_sha256=kernel, extra=self.extra,
            )
        )
        talk.close(run_id)

    def _result(self) -> dict[str, str]:
        """Names out of the result beside the transcript; what it says of the outcome is its own format's."""
        path = self.source.companion(RESULT)
        if path is None:
            return {}
        try:
            found = msgspec.json.decode(self.source.read(path))
        except (OSError, msgspec.MsgspecError, RecursionError, UnicodeError) as e:
            self.batch.issue("unreadable_companion", f"cannot be read: {str(e)[:120]}", path=str(path))
            return {}
        if not isinstance(found, dict):
            return {}
        return {k: v for k in ("model", "harness", "problem") if isinstance(v := found.get(k), str) and v}

    def _solution_file(self) -> str | None:
        """The solution beside the transcript: what the harness judged, however it was written."""
        for name in SOLUTIONS:
            path = self.source.companion(name)
            if path is not None and (sha := self.batch.kernel(self.source.companion_text(path, self.batch))):
                return sha
        return None
