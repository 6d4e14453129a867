"""Files that belong together: a shard holds all of them or none.

A file's *unit* is a text that it shares with the files that are read along with it, or that it speaks
for. It comes of the path and of the names beside it alone, so that a shard opens no file of another.
"""

from __future__ import annotations

import re

from kbstats.ingest import archives, folders

SPEAKERS = frozenset(
    {
        "agent_eval_results.json", "detailed_results.json", "eval_results.json", "kbstats-export.json", "metrics.yaml",
        "result.json", "reward.json", "trajectory.json",
    }
)  # fmt: skip
"""Names of files that speak for what lies beside them: their whole folder is one unit."""
_OF_ONE_RUN = re.compile(r"(?P<run>level_\d+_problem_\d+(?:_sample_\d+)?)_[^/]+")
"""A trajectory, and the kernel and the progress of the same run beside it."""


def unit_of(path_text: str) -> str:
    r"""The unit of a file, given by its path as `scan.path_text` writes it; of an archive's member the archive's.

    >>> unit_of("/no/such/level_1_problem_2_trajectory.json")
    '/no/such/level_1_problem_2'
    """
    path_text = path_text.partition(archives.INSIDE)[0]
    folder, _, name = path_text.rpartition("/")
    # a name that is no UTF-8 cannot be listed by its text: such a folder stays whole
    if "\\x" in folder or not SPEAKERS.isdisjoint(folders.listed(folder)):
        return folder
    m = _OF_ONE_RUN.fullmatch(name)
    return f"{folder}/{m['run']}" if m else path_text
