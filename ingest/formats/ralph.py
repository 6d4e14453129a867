"""KernelBench runs of the `ralph` kind: ralph_*/results.jsonl, one problem a line, one answer a problem."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode, identity, jsonlines
from kbstats.ingest.batch import Batch, json_text
from kbstats.ingest.format import CONTENT, EXACT, NO, Format, Source
from kbstats.ingest.formats.exec_result import add_evidence, kept, located, mapping, read_result
from kbstats.ingest.hashing import text_id
from kbstats.ingest.lenient import build, known_keys
from kbstats.ingest.rows import Message, Run, Turn

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RALPH = "ralph"
RESULTS, CONFIG = "results.jsonl", "config_snapshot.json"
EVALUATED = "evaluated"
"""The status that tells how far the harness came, not how the kernel did: the flags tell that."""

_STATUS = re.compile(rb'"status": ?"(?:evaluated|static_failed|generation_error|extraction_failed|evaluation_error)"')
_ONE = re.compile(r"problem_\d+\.json")
_FILE = re.compile(r"level_(?P<level>\d+)/problem_(?P<problem>\d+)\.(?P<kind>py|txt)$")
_CONFIG_KEYS = (
    "gpu_arch",
    "measure_performance",
    "num_correct_trials",
    "server_type",
    "temperature",
    "max_tokens",
    "codex_model",
    "dataset_src",
)


class Record(msgspec.Struct):
    """One line."""

    status: str | None = None
    level: int | None = None
    problem_id: int | None = None
    problem_name: str | None = None
    model_name: str | None = None
    backend: str | None = None
    precision: str | None = None
    prompt_option: str | None = None
    elapsed_sec: float | None = None
    eval_result: Any = None
    isolated_eval: Any = None
    static_errors: list[str] | None = None
    static_warnings: list[str] | None = None
    error: str | None = None
    error_type: str | None = None
    traceback: str | None = None
    generated_kernel_path: str | None = None
    raw_generation_path: str | None = None


class Ralph(Format):
    """The results file with its configuration, kernels and raw answers beside it."""

    name = RALPH
    suffixes = frozenset({".jsonl", ".json"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By keys that no other family's lines have together.

        A problem's own file (per_problem/level_1/problem_1.json) repeats a line of the results: it
        counts only where there are none.
        """
        paths = b'"raw_generation_path"' in head or b'"generated_kernel_path"' in head
        timed = b'"elapsed_sec"' in head and (b'"error_type"' in head or b'"backend"' in head)
        if path.suffix.lower() == ".json":
            if not (_ONE.fullmatch(path.name) and paths and timed):
                return NO
            return NO if any((p / RESULTS).is_file() for p in list(path.parents)[1:3]) else CONTENT
        if path.name == RESULTS and timed and (paths or _STATUS.search(head) or b'"error"' in head):
            return EXACT
        return CONTENT if paths and timed else NO

    def companions(self, path: Path) -> Iterable[Path]:
        """The configuration; the kernels and raw answers by level."""
        if path.suffix.lower() == ".json":
            return
        config = path.with_name(CONFIG)
        if config.is_file():
            yield config
        for folder, suffix in (("generated_kernels", "py"), ("raw_generation", "txt")):
            yield from sorted((path.parent / folder).glob(f"level_*/problem_*.{suffix}"))

    def read(self, source: Source, batch: Batch) -> None:
        """One run a line."""
        reader = _Reader(source, batch)
        if source.path.suffix.lower() == ".json":
            try:
                document = decode.untyped(source.read(), batch)
            except decode.UnreadableError as e:
                batch.reject(e.code, e.message, location=e.location)
                return
            if not isinstance(document, dict):
                batch.reject("not_results", "the document is no JSON object")
                return
            lines = [("", document)]
        else:
            lines = [(f"line {line} ", d) for line, d in jsonlines.objects(source.read(), batch)]
        # a problem tried again overwrites its kernel's file: the file belongs to the last line
        last = {_problem(d): where for where, d in lines}
        for where, document in lines:
            reader.take(where, document, is_last=last[_problem(document)] == where)
        reader.finish()


FORMAT = Ralph()


def _problem(document: dict[str, Any]) -> str:
    return text_id(document.get("level"), document.get("problem_id"))


class _Reader:
    """Lines on their way into the batch."""

    def __init__(self, source: Source, batch: Batch) -> None:
        self.source, self.batch = source, batch
        self.files = {
            (int(m["level"]), int(m["problem"]), m["kind"]): p
            for p in source.companions
            if (m := _FILE.search(p.as_posix()))
        }
        self.config = self._config()
        self.seen: dict[str, list[str]] = {}
        self.runs: list[Run] = []
        folder = source.path.parent
        if folder.name.startswith("level_") and folder.parent.name == "per_problem":
            folder = folder.parent.parent
        self.sweep = folder.name or None

    def _config(self) -> dict[str, Any]:
        path = self.source.companion(CONFIG)
        if path is None:
            return {}
        try:
            return mapping(decode.untyped(self.source.read(path), self.batch))
        except (OSError, decode.UnreadableError) as e:
            self.batch.issue("unreadable_companion", f"cannot be read: {e}", path=str(path))
            return {}

    def take(self, where: str, document: dict[str, Any], *, is_last: bool) -> None:
        """One line; `is_last`: no later one is of the same problem."""
        r: Record = build(Record, document, located(self.batch, where))
        if r.problem_id is None and r.status is None:
            self.batch.issue(
                "bad_line", "neither problem_id nor status; left out", severity="error", location=where.strip()
            )
            return
        columns: dict[str, Any] = {
            "suite": identity.KERNELBENCH,
            "sweep": self.sweep,
            "variant": identity.DEFAULT_VARIANT,
            "model_raw": r.model_name,
            "level": r.level,
            "problem_id": r.problem_id,
            "problem_name": r.problem_name,
            "harness": RALPH,
        }
        sample = self._sample(columns, document, where)
        if sample is None:
            return
        columns["sample_id"] = sample
        run_id = identity.run_id(**columns)
        found = read_result(mapping(r.eval_result), located(self.batch, f"{where}/eval_result"))
        metadata = self._metadata(r, found.metadata)
        add_evidence(self.batch, run_id, mapping(r.eval_result), metadata, compiled=found.compiled)
        said = is_last and self._said(run_id, r)
        unknown = {k: v for k, v in document.items() if k not in known_keys(Record)}
        run = Run(
            run_id=run_id,
            source_id=self.source.source_id,
            format=RALPH,
            **columns,
            mode="single",
            model=identity.model_of(r.model_name),
            backend=r.backend,
            precision=r.precision,
            hardware=found.hardware,
            max_turns=1,
            n_turns=1 if said else None,
            wall_s=r.elapsed_sec,
            source_outcome=None if r.status == EVALUATED else r.status,
            compiled=found.compiled,
            correct=found.correct,
            runtime_us=found.runtime_us,
            ref_runtime_us=found.ref_runtime_us,
            speedup=found.speedup,
            baseline="eager" if found.speedup is not None else None,
            submitted_kernel_sha256=self.batch.kernel(self._text(r, "py")) if is_last else None,
            extra=kept(
                {
                    **unknown,
                    "status": r.status,
                    "metadata": metadata,
                    "prompt_option": r.prompt_option,
                    "static_errors": r.static_errors,
                    "static_warnings": r.static_warnings,
                    "traceback": r.traceback,
                    "isolated_eval": r.isolated_eval,
                    "config": {k: v for k in _CONFIG_KEYS if (v := self.config.get(k)) is not None},
                }
            ),
        )
        self.runs.append(run)
        self.batch.add(run)

    def _sample(self, columns: dict[str, Any], document: dict[str, Any], where: str) -> int | None:
        """Which attempt at its problem a line is; None for a line that stands twice."""
        key, content = text_id(*columns.values()), text_id(json_text(document))
        before = self.seen.setdefault(key, [])
        if content in before:
            self.batch.issue("duplicate_row", "the same line again; counted once", location=where.strip())
            return None
        if before:
            self.batch.issue("repeated_run", "the same problem again; read as a further sample", location=where.strip())
        before.append(content)
        return len(before) - 1

    @staticmethod
    def _metadata(r: Record, metadata: dict[str, Any]) -> dict[str, Any]:
        """The result's own metadata, and what the harness said before or instead of a result."""
        isolated = mapping(r.isolated_eval)
        said = r.error or "\n".join(r.static_errors or ()) or isolated.get("error")
        if isinstance(said, str) and said:
            metadata.setdefault("error", said)
        name = r.error_type or isolated.get("error_type")
        if isinstance(name, str) and name:
            metadata.setdefault("error_name", name)
        return metadata

    def _text(self, r: Record, kind: str) -> str | None:
        """A file beside the results."""
        if r.level is None or r.problem_id is None:
            return None
        path = self.files.get((r.level, r.problem_id, kind))
        return None if path is None else self.source.companion_text(path, self.batch)

    def _said(self, run_id: str, r: Record) -> bool:
        """The model's one answer, where its file is kept."""
        text = self._text(r, "txt")
        if not text:
            return False
        self.batch.add(Turn(run_id=run_id, turn=0, is_final=True))
        self.batch.add(Message(run_id=run_id, turn=0, seq=0, kind="assistant", text=text))
        return True

    def finish(self) -> None:
        """One machine evaluated the file: lines that name none ran on the one the others name."""
        named = {r.hardware for r in self.runs if r.hardware}
        if len(named) == 1:
            only = named.pop()
            for run in self.runs:
                if run.hardware is None and isinstance(run.extra, dict):
                    run.hardware = only
                    run.extra["hardware_from"] = "file"
