"""KernelBench run folders that hold kernels and no results: one run a kernel, of unknown outcome.

Where a results file or a trajectory lies beside, it speaks for the kernel and this format gives way.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kbstats.ingest import identity
from kbstats.ingest.format import EXACT, NO, Format, Source
from kbstats.ingest.formats.kernelbench_folder import AGENT_EVAL, CONFIG, DETAILED, EVAL, KERNEL, Folder
from kbstats.ingest.rows import Run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kbstats.ingest.batch import Batch

NAME = "kernelbench_kernels"


class KernelBenchKernels(Format):
    """One run a file `level_{L}_problem_{P}_sample_{S}_kernel.py`."""

    name = NAME
    suffixes = frozenset({".py", ".cu", ".cpp"})
    pattern = re.compile(KERNEL.pattern)

    def sniff(self, path: Path, head: bytes) -> int:
        """By the file's name, unless something beside it says more."""
        return NO if self.gives_way(path) or not head.strip() else EXACT

    def gives_way(self, path: Path) -> bool:
        """Whether a results file speaks for the kernel, since the last ingest or all along."""
        return any(path.with_name(name).is_file() for name in (EVAL, AGENT_EVAL, DETAILED))

    def companions(self, path: Path) -> Iterable[Path]:
        """The run's configuration."""
        config = path.with_name(CONFIG)
        if config.is_file():
            yield config

    def read(self, source: Source, batch: Batch) -> None:
        """One run: who wrote the kernel is known, how it did is not."""
        m = KERNEL.fullmatch(source.path.name)
        if m is None:
            batch.reject("not_results", "the file is not named like a run's kernel")
            return
        folder = Folder(source, batch, {})
        columns: dict[str, Any] = {
            "suite": identity.KERNELBENCH,
            "sweep": folder.sweep,
            "variant": identity.DEFAULT_VARIANT,
            "model_raw": folder.model_raw,
            "level": int(m["level"]),
            "problem_id": int(m["problem"]),
            "problem_name": None,
            "sample_id": int(m["sample"]),
            "harness": identity.KERNELBENCH,
        }
        batch.add(
            Run(
                run_id=identity.run_id(**columns),
                source_id=source.source_id,
                format=NAME,
                **columns,
                mode=identity.mode_of(folder.sweep),
                model=identity.model_of(folder.model_raw),
                backend=folder.backend,
                precision=folder.precision,
                submitted_kernel_sha256=batch.kernel(source.read().decode("utf-8", "replace")),
                extra={"model_from": "folder"} if folder.model_from_name else {},
            )
        )


FORMAT = KernelBenchKernels()
