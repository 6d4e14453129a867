"""Who ran what: run ids, modes, model names and what a path tells where a file is silent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kbstats.ingest.aliases import model_of as model_of  # noqa: PLC0414  part of what this module offers
from kbstats.ingest.hashing import text_id

if TYPE_CHECKING:
    from pathlib import Path

POPCORNBENCH = "popcornbench"
KERNELBENCH = "kernelbench"

IDENTITY = (
    "suite",
    "sweep",
    "variant",
    "model_raw",
    "level",
    "problem_id",
    "problem_name",
    "sample_id",
    "harness",
)
"""The columns of `runs` that make a run the same run, wherever and whenever it is read."""

DEFAULT_VARIANT = "default"
MODES = {"all": "all", "default": "default", "single": "single", "st": "single"}
_WORDS = re.compile(r"[^A-Za-z0-9]+")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.\-]")


def run_id(**columns: object) -> str:
    """The stable id of a run: a hash of the columns of `IDENTITY`; those not given are unknown.

    Raises:
        TypeError: a name that is no identity column.
    """
    if wrong := columns.keys() - set(IDENTITY):
        raise TypeError(f"no identity column: {', '.join(sorted(wrong))}")
    return text_id(*(columns.get(c) for c in IDENTITY))


def mode_of(name: str | None) -> str | None:
    """The tool tier that a sweep's name or a mode column tells: `single`, `default`, `all` or None.

    Names carry the tier as a word, the last one counting: `l3_all_gpt`, `x_single_turn_final`,
    `sl5_all`, `fl5_st`. `mt` alone (several turns) says nothing about the tools.
    """
    for word in reversed(_WORDS.split(name or "")):
        if mode := MODES.get(word.lower()):
            return mode
    return None


def safe(name: str) -> str:
    """A name as the POPCORNBENCH harness writes it into a path: odd characters become `_`."""
    return _UNSAFE.sub("_", name)


class Place(NamedTuple):
    """What a path tells of a run."""

    sweep: str | None
    variant: str | None
    model: str | None


def place_of(path: Path, run_name: str | None, model_name: str | None) -> Place:
    """What the folders of a trajectory tell: runs/{sweep}/[{variant}/]{model}/file.

    The sweep's folder is found by the file's own run name, else as the child of the nearest
    folder `runs`, else by counting upwards. A path without a variant (the layout before
    2026-04-27, and single batches) is of the variant `default`.
    """
    dirs = path.parts[1:-1] if path.is_absolute() else path.parts[:-1]
    at = _sweep_at(dirs, run_name)
    if at is None:
        return _place_by_model(dirs, model_name)
    below = dirs[at + 1 :]
    if not below:
        return Place(dirs[at], DEFAULT_VARIANT, None)
    if len(below) == 1:
        return Place(dirs[at], DEFAULT_VARIANT, below[0])
    return Place(dirs[at], below[0], below[-1])


def _sweep_at(dirs: tuple[str, ...], run_name: str | None) -> int | None:
    names = {run_name, safe(run_name)} if run_name else set()
    for i in range(len(dirs) - 1, -1, -1):
        if dirs[i] in names:
            return i
    for i in range(len(dirs) - 2, -1, -1):
        if dirs[i] == "runs":
            return i + 1
    return None


def _place_by_model(dirs: tuple[str, ...], model_name: str | None) -> Place:
    """Without a sweep's folder to hold on to: the parent is the model, if it is named like it or not."""
    if not dirs:
        return Place(None, DEFAULT_VARIANT, None)
    if model_name and dirs[-1] not in {model_name, safe(model_name)}:
        if len(dirs) < 3:
            return Place(None, None, dirs[-1])
        above = DEFAULT_VARIANT if mode_of(dirs[-2]) else dirs[-2]  # a tier's word tells a sweep's folder
        return Place(None, above, dirs[-1])
    if len(dirs) >= 3:
        return Place(dirs[-3], dirs[-2], dirs[-1])
    return Place(dirs[-2] if len(dirs) > 1 else None, DEFAULT_VARIANT, dirs[-1])
