"""KernelBench-v3: runs/{time}_{mode}_{language}_{provider}_{model}/kernel_{id}_{name}/metrics.yaml.

The run's manifest.yaml names the model exactly; without it the folder's name does, with every odd
character replaced. A manifest whose kernels have no metrics of their own is a source by itself.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode, identity
from kbstats.ingest.format import EXACT, NO, Format, Source
from kbstats.ingest.formats.exec_result import add_evidence, kept, located, mapping, read_result
from kbstats.ingest.formats.yaml_text import document as yaml_document
from kbstats.ingest.hashing import source_sha256
from kbstats.ingest.lenient import build, known_keys
from kbstats.ingest.metrics import CANDIDATE, number
from kbstats.ingest.references import draws_shapes
from kbstats.ingest.rows import Message, Metric, Problem, Run, Turn
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kbstats.ingest.batch import Batch

V3 = "kernelbench_v3"
METRICS, MANIFEST = "metrics.yaml", "manifest.yaml"
_RUN = re.compile(
    r"(?P<time>\d{8}_\d{6})_(?P<mode>raw|agentic)_(?P<language>[a-z]+)_(?P<provider>[A-Za-z0-9-]+)_(?P<model>.+)"
)
_KERNEL = re.compile(r"kernel_(?P<id>\d{1,9})_(?P<name>.+)")
_MODES = {"raw": "single"}
_TEXTS = ("generated_code.py", "reference.py", "prompt.txt", "response_raw.txt", "response_formatted.txt")
_STAGES = {"compile_s": "time.compile", "queue_wait_s": "time.queue", "total_s": "time.total"}


class Record(msgspec.Struct):
    """metrics.yaml, and a kernel's entry in the manifest."""

    compiled: bool | None = None
    correctness: bool | None = None
    runtime_ms: float | None = None
    runtime_stats: Any = None
    profiling: Any = None
    metadata: Any = None
    problem_id: int | None = None
    problem_name: str | None = None
    path: str | None = None
    stage: str | None = None
    error_category: str | None = None


class KernelBenchV3(Format):
    """One run a kernel folder."""

    name = V3
    suffixes = frozenset({".yaml", ".yml"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By the file's name, its folder's name and its keys together."""
        if path.name == METRICS and _KERNEL.fullmatch(path.parent.name):
            return EXACT if b"compiled:" in head and b"runtime_ms:" in head else NO
        if path.name == MANIFEST and all(k in head for k in (b"run_id:", b"language:", b"settings:")):
            return NO if next(path.parent.glob(f"kernel_*/{METRICS}"), None) else EXACT
        return NO

    def companions(self, path: Path) -> Iterable[Path]:
        """The manifest above; the kernel, its reference and what was said beside."""
        if path.name == MANIFEST:
            return
        for companion in (path.parent.parent / MANIFEST, *(path.with_name(n) for n in _TEXTS)):
            if companion.is_file():
                yield companion

    def read(self, source: Source, batch: Batch) -> None:
        """One run, or those of a manifest."""
        try:
            document = yaml_document(source.read(), batch)
        except decode.UnreadableError as e:
            if e.code == "empty_file":
                batch.partial(e.code, e.message, location=e.location)
            else:
                batch.reject(e.code, e.message, location=e.location)
            return
        if not isinstance(document, dict):
            batch.reject("not_results", "the document is no mapping")
            return
        if source.path.name == MANIFEST:
            reader = _Reader(source, batch, document, source.path.parent.name)
            kernels = document.get("kernels")
            for i, kernel in enumerate(kernels if isinstance(kernels, list) else ()):
                if isinstance(kernel, dict):
                    reader.take(kernel, f"/kernels/{i}", "")
                else:
                    batch.issue("type_dropped", "expected a kernel's mapping; left out", location=f"/kernels/{i}")
            return
        folder = source.path.parent
        _Reader(source, batch, _manifest(source, batch), folder.parent.name).take(document, "", folder.name)


FORMAT = KernelBenchV3()


def _manifest(source: Source, batch: Batch) -> dict[str, Any]:
    path = source.companion(MANIFEST)
    if path is None:
        return {}
    try:
        return mapping(yaml_document(source.read(path), batch))
    except (OSError, decode.UnreadableError) as e:
        batch.issue("unreadable_companion", f"cannot be read: {e}", path=str(path))
        return {}


class _Reader:
    """Kernels of one run on their way into the batch."""

    def __init__(self, source: Source, batch: Batch, manifest: dict[str, Any], run: str) -> None:
        self.source, self.batch, self.manifest = source, batch, manifest
        self.folder = m.groupdict() if (m := _RUN.fullmatch(run)) else {}
        self.sweep = self._said("run_id") or run or None

    def _said(self, key: str) -> str | None:
        value = self.manifest.get(key)
        return value if isinstance(value, str) and value else None

    def _either(self, key: str) -> str | None:
        """From the manifest, else from the folder's name."""
        return self._said(key) or self.folder.get(key)

    def take(self, document: dict[str, Any], pointer: str, folder: str) -> None:
        """One kernel."""
        r: Record = build(Record, document, located(self.batch, pointer))
        m = _KERNEL.fullmatch(folder)
        problem_id = r.problem_id if r.problem_id is not None else int(m["id"]) if m else None
        columns: dict[str, Any] = {
            "suite": identity.KERNELBENCH,
            "sweep": self.sweep,
            "variant": identity.DEFAULT_VARIANT,
            # the folder's name holds the model with its slashes replaced, a manifest the model itself
            "model_raw": self._either("model"),
            "level": None,
            "problem_id": problem_id,
            "problem_name": r.problem_name or (_file_name(m["name"]) if m else None),
            "sample_id": 0,
            "harness": V3,
        }
        run_id = identity.run_id(**columns)
        found = read_result(document, located(self.batch, pointer), runtime="runtime_ms", ref="ref_runtime_ms")
        add_evidence(self.batch, run_id, document, found.metadata, compiled=found.compiled)
        self._stages(run_id, r)
        said = self._texts(run_id)
        environment = mapping(self.manifest.get("environment"))
        hardware = found.hardware or environment.get("hardware")
        reference = self._reference(columns)
        mode = self._either("mode")
        unknown = {k: v for k, v in document.items() if k not in known_keys(Record)}
        self.batch.add(
            Run(
                run_id=run_id,
                source_id=self.source.source_id,
                format=V3,
                **columns,
                mode=_MODES.get(mode or "", mode),
                model=identity.model_of(columns["model_raw"]),
                backend=self._either("language"),
                hardware=hardware if isinstance(hardware, str) else None,
                n_turns=1 if said else None,
                started_at=utc(self._said("timestamp"), self.batch, "/timestamp"),
                compiled=found.compiled,
                correct=found.correct,
                runtime_us=found.runtime_us,
                ref_runtime_us=found.ref_runtime_us,
                speedup=found.speedup,
                baseline="eager" if found.speedup is not None else None,
                submitted_kernel_sha256=self._kernel(),
                reference_sha256=reference,
                extra=kept(
                    {
                        **unknown,
                        "metadata": found.metadata,
                        "provider": self._either("provider"),
                        "stage": r.stage,
                        "error_category": r.error_category,
                        "profiling": r.profiling,
                        "settings": self.manifest.get("settings"),
                        "model_from": None if self._said("model") else "folder",
                    }
                ),
            )
        )

    def _stages(self, run_id: str, r: Record) -> None:
        """How long the harness's stages took, in seconds."""
        times = mapping(mapping(r.profiling).get("times_s"))
        for key, name in _STAGES.items():
            value = number(times.get(key))
            if value is not None and value >= 0:
                self.batch.add(
                    Metric(run_id=run_id, subject=CANDIDATE, name=name, value=value, unit="s", source="harness")
                )

    def _text(self, name: str) -> str | None:
        path = self.source.companion(name)
        return None if path is None else self.source.companion_text(path, self.batch)

    def _kernel(self) -> str | None:
        return self.batch.kernel(self._text("generated_code.py"))

    def _texts(self, run_id: str) -> bool:
        """Prompt and answer: a single turn."""
        said = [("user", self._text("prompt.txt")), ("assistant", self._text("response_raw.txt"))]
        said = [(kind, text) for kind, text in said if text and text.strip()]
        if not said:
            return False
        self.batch.add(Turn(run_id=run_id, turn=0, is_final=True))
        for seq, (kind, text) in enumerate(said):
            self.batch.add(Message(run_id=run_id, turn=0, seq=seq, kind=kind, text=text or ""))
        return True

    def _reference(self, columns: dict[str, Any]) -> str | None:
        """The reference kept beside the kernel, as a problem of the suite."""
        text = self._text("reference.py")
        if not text or not text.strip():
            return None
        sha = source_sha256(text)
        self.batch.add(
            Problem(
                source_id=self.source.source_id,
                suite=identity.KERNELBENCH,
                level=columns["level"],
                variant=columns["variant"],
                problem_id=columns["problem_id"],
                problem_name=columns["problem_name"],
                source_code=text,
                source_sha256=sha,
                draws_shapes=draws_shapes(text),
                backend=self._either("language"),
            )
        )
        return sha


def _file_name(name: str) -> str:
    """`21_Sigmoid_py` as the file it was: the dot before the suffix was replaced as well."""
    return f"{name[:-3]}.py" if name.endswith("_py") else name
