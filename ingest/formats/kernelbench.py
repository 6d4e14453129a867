"""Official KernelBench: run folders with eval_results.json in both file generations, and what lies beside.

* `eval_results.json`        {"problem": {...}} (until 2025-10-09) or {"problem": [{...}, …]} (since)
* `agent_eval_results.json`  the same in POPCORNBENCH's single batches, with turns and tokens
* `detailed_results.json`    {run_info, config, results: [{problem_id, eval_result, …}]}
* `pass_at_k_results.json`  beside them: per problem, the chance that one of k samples passes
* `baseline_time*.json`      {"level1": {"1_name.py": {mean, …} | null}}
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kbstats.ingest import decode, diagnostics, identity, metrics, timeouts
from kbstats.ingest.format import CONTENT, EXACT, NAME, NO, Format, Source
from kbstats.ingest.formats.kernelbench_baselines import is_baseline_name, read_baselines
from kbstats.ingest.formats.kernelbench_folder import AGENT_EVAL, CONFIG, DETAILED, EVAL, KERNEL, PASS_AT_K, Folder
from kbstats.ingest.lenient import Report, point, to_bool, to_float, to_int, to_str
from kbstats.ingest.rows import Metric, Run
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from kbstats.ingest.batch import Batch

_SAMPLE_KEYS = (b'"compiled"', b'"correctness"', b'"runtime"')
_COLUMNS = frozenset(
    {
        "sample_id",
        "compiled",
        "correctness",
        "metadata",
        "runtime",
        "ref_runtime",
        "outcome",
        "total_turns",
        "total_tool_calls",
        "llm_input_tokens",
        "llm_output_tokens",
        "llm_total_tokens",
        "agent_wall_clock_s",
        "truncation_occurred",
        "problem_id",
        "level",
        "problem_name",
        "sample",
        "timestamp",
        "generation_time",
        "eval_time",
        "eval_result",
        "backend",
        "precision",
    }
)


class KernelBench(Format):
    """Results of a run folder: one run a problem and sample."""

    name = identity.KERNELBENCH
    suffixes = frozenset({".json"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By the file's name, damaged or not; a renamed one by the keys of its first sample."""
        marked = all(k in head for k in _SAMPLE_KEYS)
        if path.name in {EVAL, AGENT_EVAL}:
            return EXACT if marked else NAME
        if path.name == DETAILED and (b'"run_info"' in head or b'"results"' in head):
            return EXACT
        if is_baseline_name(path.name):
            return NAME
        return CONTENT if marked and re.match(rb'\s*\{\s*"\d+"\s*:\s*[\[{]', head) else NO

    def companions(self, path: Path) -> Iterable[Path]:
        """The run's configuration, its kernels, links to kernels included, and what it says of several samples."""
        if is_baseline_name(path.name):
            return
        for entry in path.parent.iterdir():
            if (entry.name in {CONFIG, PASS_AT_K} or KERNEL.fullmatch(entry.name)) and entry.is_file():
                yield entry

    def read(self, source: Source, batch: Batch) -> None:
        """All samples. Of a file cut short, those that stand in it whole."""
        try:
            document = decode.untyped(source.read(), batch)
        except decode.UnreadableError as e:
            if e.code == "not_json":
                batch.reject(e.code, e.message, location=e.location)
                return
            batch.partial(e.code, e.message, location=e.location)
            document = decode.whole_entries(e.text) if e.text else {}
        if not isinstance(document, dict):
            batch.reject("not_results", "the document is no JSON object")
            return
        if is_baseline_name(source.path.name):
            read_baselines(source, batch, document)
            return
        reader = _Reader(source, batch, Folder(source, batch, document))
        for problem, pointer, sample in _samples(document, batch):
            reader.take(problem, pointer, sample)
        reader.finish()


FORMAT = KernelBench()


def _samples(document: Mapping[str, Any], batch: Batch) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(problem, JSON pointer, sample) in all three layouts."""
    if isinstance(results := document.get("results"), list):
        for i, entry in enumerate(results):
            if isinstance(entry, dict):
                inner = entry.get("eval_result")
                merged = {**entry, **(inner if isinstance(inner, dict) else {})}
                if not isinstance(inner, dict) and entry.get("error"):
                    merged.setdefault("metadata", {"error": entry["error"]})
                yield str(entry.get("problem_id", "")), f"/results/{i}", merged
        return
    for problem, entry in document.items():
        samples = entry if isinstance(entry, list) else [entry]
        for i, sample in enumerate(samples):
            pointer = point("", problem) + (f"/{i}" if isinstance(entry, list) else "")
            if isinstance(sample, dict):
                yield problem, pointer, sample
            else:
                batch.issue("type_dropped", "expected a sample's object; left out", location=pointer)


class _Reader:
    """Samples of one file on their way into the batch."""

    def __init__(self, source: Source, batch: Batch, folder: Folder) -> None:
        self.source, self.batch, self.folder = source, batch, folder
        self.agent = source.path.name == AGENT_EVAL
        self.runs: list[Run] = []

    def _report(self) -> Report:
        return decode.report_to(self.batch)

    def take(self, problem: str, pointer: str, s: dict[str, Any]) -> None:
        """One sample."""
        report = self._report()

        def get(key: str, convert: Any) -> Any:
            value = s.get(key)
            return None if value is None else convert(value, report, point(pointer, key))

        problem_id = self._problem_id(problem, s, pointer)
        sample_id = get("sample_id", to_int)
        level = get("level", to_int) or self.folder.level
        if self.agent and self.folder.has_trajectory(level, problem_id):
            return  # the trajectory itself tells more, and is a source of its own
        columns = self._columns(s, level, problem_id, sample_id or 0)
        run_id = identity.run_id(**columns)
        if self.batch.has_run(run_id):
            columns["sample_id"] = self.folder.next_sample(run_id)
            run_id = identity.run_id(**columns)
            self.batch.issue(
                "repeated_run", "another sample with the same number; read as a further one", location=pointer
            )
        metadata = s.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        compiled, correct = get("compiled", to_bool), get("correctness", to_bool)
        runtime = metrics.positive(get("runtime", to_float), metrics.MS_TO_US)
        ref = metrics.positive(get("ref_runtime", to_float), metrics.MS_TO_US)
        speedup = ref / runtime if runtime and ref else None
        run = Run(
            run_id=run_id,
            source_id=self.source.source_id,
            format=identity.KERNELBENCH,
            **columns,
            mode=identity.mode_of(columns["sweep"]),
            model=identity.model_of(columns["model_raw"]),
            backend=get("backend", to_str) or self.folder.backend,
            precision=get("precision", to_str) or self.folder.precision,
            hardware=self._hardware(s, metadata),
            n_turns=get("total_turns", to_int),
            n_tool_calls=get("total_tool_calls", to_int),
            finished_at=utc(s.get("timestamp"), self.batch, point(pointer, "timestamp")),
            wall_s=self._wall(s),
            input_tokens=get("llm_input_tokens", to_int) or None,
            output_tokens=get("llm_output_tokens", to_int) or None,
            total_tokens=get("llm_total_tokens", to_int) or None,
            truncated=get("truncation_occurred", to_bool),
            source_outcome=get("outcome", to_str),
            compiled=compiled,
            correct=correct,
            runtime_us=runtime,
            ref_runtime_us=ref,
            speedup=speedup,
            baseline="eager" if speedup is not None else None,
            submitted_kernel_sha256=self.folder.kernel(level, problem_id, sample_id or 0),
            extra=self._extra(s, metadata),
        )
        self.runs.append(run)
        self.batch.add(run)
        self._evidence(run_id, s, metadata, compiled=compiled)

    def _problem_id(self, problem: str, s: dict[str, Any], pointer: str) -> int | None:
        for value in (problem, s.get("problem_id")):
            if isinstance(value, int) or (isinstance(value, str) and value.strip().isdigit()):
                return int(value)
        self.batch.issue("no_problem_id", f"the problem {problem[:60]!r} is no number", location=pointer)
        return None

    def _columns(
        self, s: dict[str, Any], level: int | None, problem_id: int | None, sample_id: int
    ) -> dict[str, Any]:
        suite = identity.POPCORNBENCH if self.agent else identity.KERNELBENCH
        name = s.get("problem_name")
        return {
            "suite": suite,
            "sweep": self.folder.sweep,
            "variant": identity.DEFAULT_VARIANT,
            "model_raw": self.folder.model_raw,
            "level": level,
            "problem_id": problem_id,
            "problem_name": name if isinstance(name, str) and name else None,
            "sample_id": sample_id,
            "harness": suite,
        }

    def _hardware(self, s: dict[str, Any], metadata: dict[str, Any]) -> str | None:
        stats = s.get("runtime_stats")
        found = metadata.get("hardware") or (stats.get("hardware") if isinstance(stats, dict) else None)
        return found if isinstance(found, str) else None

    def _wall(self, s: dict[str, Any]) -> float | None:
        if (wall := metrics.number(s.get("agent_wall_clock_s"))) is not None:
            return wall
        parts = [metrics.number(s.get(k)) for k in ("generation_time", "eval_time")]
        return sum(p or 0.0 for p in parts) if any(p is not None for p in parts) else None

    def _extra(self, s: dict[str, Any], metadata: dict[str, Any]) -> dict[str, Any]:
        extra: dict[str, Any] = {"metadata": metadata} if metadata else {}
        if self.folder.model_from_name:
            extra["model_from"] = "folder"
        rest = {k: v for k, v in s.items() if k not in _COLUMNS and v not in (None, {}, [], "")}
        return {**extra, "final_result": rest} if rest else extra

    def _evidence(
        self, run_id: str, s: dict[str, Any], metadata: dict[str, Any], *, compiled: bool | None
    ) -> None:
        """Diagnostics, time-outs and measured numbers of one sample."""
        for row in metrics.once(metrics.rows(run_id, s)):
            self.batch.add(row)
        told = [metadata.get(k) for k in ("error", "compilation_error", "runtime_error", "other_error")]
        for text in told:
            if isinstance(text, str) and (found := list(timeouts.rows(run_id, text, metadata))):
                self.batch.add(found[0])
                break
        text = metadata.get("compilation_error")
        if isinstance(text, str) and compiled is not True:
            name = metadata.get("compilation_error_name")
            for error in diagnostics.rows(run_id, text, building=True):
                if error.code is None and error.toolchain == "python" and isinstance(name, str):
                    error.code = name.rsplit(".", 1)[-1]
                self.batch.add(error)

    def finish(self) -> None:
        """What the file as a whole tells of its samples."""
        self._one_machine()
        first: dict[int | None, Run] = {}
        for run in self.runs:
            best = first.setdefault(run.problem_id, run)
            if (run.sample_id or 0) < (best.sample_id or 0):
                first[run.problem_id] = run
        for problem_id, name, value in self.folder.pass_at_k():
            if (of := first.get(problem_id)) is not None:
                self.batch.add(
                    Metric(
                        run_id=of.run_id,
                        subject="candidate",
                        name=name,
                        value=value,
                        unit="ratio",
                        source="harness",
                    )
                )

    def _one_machine(self) -> None:
        """One machine evaluated the file: samples that name none ran on the one the others name."""
        named = {r.hardware for r in self.runs if r.hardware}
        if len(named) == 1:
            only = named.pop()
            for run in self.runs:
                if run.hardware is None:
                    run.hardware = only
                    if isinstance(run.extra, dict):
                        run.extra["hardware_from"] = "file"
