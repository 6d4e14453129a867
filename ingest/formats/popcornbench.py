"""POPCORNBENCH trajectories: runs/{sweep}/[{variant}/]{model}/level_{L}_problem_{P}_trajectory.json."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.ingest import decode, folders, identity
from kbstats.ingest.format import CONTENT, EXACT, NAME, NO, Format, Source
from kbstats.ingest.formats.popcornbench_reader import NAME as FILE_NAME
from kbstats.ingest.formats.popcornbench_reader import PROGRESS, SWEEP_CONFIG, Reader
from kbstats.ingest.formats.popcornbench_records import Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from kbstats.ingest.batch import Batch


@folders.remember
def _config_above(folder: Path) -> Path | None:
    """The sweep's configuration, in one of the three folders above a run's own."""
    return next((c for up in list(folder.parents)[:3] if folders.has(c := up / SWEEP_CONFIG)), None)


class Popcornbench(Format):
    """Trajectories of all generations, with the last kernel and the sweep's configuration beside them."""

    name = identity.POPCORNBENCH
    suffixes = frozenset({".json"})

    def sniff(self, path: Path, head: bytes) -> int:
        """By the file's name, also when the content is damaged; else by two keys of its head."""
        marked = b'"problem_id"' in head and b'"run_name"' in head and b'"max_turns"' in head
        if FILE_NAME.fullmatch(path.name):
            return EXACT if marked else NAME
        return CONTENT if marked else NO

    def companions(self, path: Path) -> Iterable[Path]:
        """The last submitted kernel, a search's progress, and the sweep's configuration up to three folders above."""
        name, folder = path.name, path.parent
        if "_trajectory.json" in name:  # a path is made for what is there alone: that takes longer than all the rest
            there = folders.names(folder)
            beside = (name.replace("_trajectory.json", end) for end in ("_kernel.py", PROGRESS))
            yield from (p for n in beside if n in there and (p := path.with_name(n)).is_file())
        if (config := _config_above(folder)) is not None:
            yield config

    def read(self, source: Source, batch: Batch) -> None:
        """One run a file. A file cut short yields none: its last submission, which decides, is missing."""
        try:
            record, unknown = decode.typed(source.read(), Trajectory, batch)
        except decode.UnreadableError as e:
            if e.code == "not_json":
                batch.reject(e.code, e.message, location=e.location)
            else:
                batch.partial(e.code, e.message, location=e.location)
            return
        if record.turns is None and record.problem_id is None and record.outcome is None:
            batch.reject("not_a_trajectory", "the document has none of the keys of a trajectory")
            return
        Reader(source, batch, record, unknown).read()


FORMAT = Popcornbench()
