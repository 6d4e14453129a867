"""A suite's checkout: level{L}/[variant/]{id}_{Name}.py, each a reference problem."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from kbstats.ingest import identity, references
from kbstats.ingest.format import EXACT, NO, Format, Source

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch

NAME = "problems"
_PLACE = re.compile(
    r"(?:.*/)?level(?P<level>\d{1,4})/(?:(?P<variant>[^/]+)/)?(?P<name>(?P<id>\d{1,9})_[^/]+\.py)", re.DOTALL
)
_LARGEST = 1 << 20
"""No reference is longer."""


class Problems(Format):
    """One problem a file; no runs."""

    name = NAME
    suffixes = frozenset({".py"})
    pattern = _PLACE

    def sniff(self, path: Path, head: bytes) -> int:
        """By the folders, and by what the whole file defines."""
        if b"class ModelNew" in head or _PLACE.fullmatch(str(path)) is None:
            return NO
        with path.open("rb") as f:
            text = f.read(_LARGEST).decode("utf-8", "replace").replace("\r\n", "\n")
        return EXACT if references.is_reference(text) else NO

    def read(self, source: Source, batch: Batch) -> None:
        """The problem, with its suite and variant from the folders."""
        m = _PLACE.fullmatch(str(source.path))
        text = source.read().decode("utf-8", "replace").replace("\r\n", "\n")
        if m is None or not references.is_reference(text):
            batch.reject("not_a_problem", "no reference problem: it lacks `Model`, `get_inputs` or its place")
            return
        variant = m["variant"]
        level_folder = source.path.parents[0 if variant is None else 1]
        references.add_problem(
            batch,
            text,
            suite=suite_of(level_folder.parent),
            level=int(m["level"]),
            variant=variant or identity.DEFAULT_VARIANT,
            problem_id=int(m["id"]),
            problem_name=m["name"],
        )


FORMAT = Problems()


@functools.lru_cache(maxsize=64)
def suite_of(folder: Path) -> str:
    """The suite of a folder of levels: `kernelbench` if it is the official one's own, else POPCORNBENCH's.

    POPCORNBENCH's checkout has the official folder's name too, but variants within its levels.
    """
    if folder.name.lower() != "kernelbench":
        return identity.POPCORNBENCH
    try:
        levels = [p for p in folder.iterdir() if p.name.startswith("level") and p.is_dir()]
        variants = any(c.is_dir() and not c.name.startswith((".", "_")) for p in levels for c in p.iterdir())
    except OSError:
        variants = False
    return identity.POPCORNBENCH if variants else identity.KERNELBENCH
