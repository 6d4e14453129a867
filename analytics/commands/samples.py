"""`kbstats samples`: the data that comes with the package, as folders to try things on."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Annotated

import typer
from kbstats.ingest.errors import KbstatsError, UsageError

FOLDERS = {
    "runs": "recorded runs of scripted agents, to be ingested",
    "problems": "the problems they worked on, for `verify --problems`",
    "verifications": "results of a re-run on an H200, for `verify import`",
}
"""What is copied, and what it is for."""


def command(
    out: Annotated[Path, typer.Argument(help="Folder to copy them into; made if it is not there.")] = Path(),
) -> None:
    """Copy the samples into a folder: runs, the problems they are about, results of a re-run.

    Example: kbstats samples samples/
    """
    from importlib.resources import as_file, files

    for name in FOLDERS:
        if (out / name).exists():
            raise UsageError(f"there is a {out / name} already; name another folder: kbstats samples DIR")
    try:
        out.mkdir(parents=True, exist_ok=True)
        with as_file(files("kbstats.data")) as data:
            for name, what in FOLDERS.items():
                shutil.copytree(data / name, out / name, ignore=shutil.ignore_patterns("__pycache__"))
                print(f"{(out / name).as_posix() + '/':15} {what}")
    except OSError as e:
        raise KbstatsError(f"the samples cannot be copied to {out}: {e.strerror or e}; name another folder") from e
