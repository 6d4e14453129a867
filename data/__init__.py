"""Data that comes with kbstats: sample suite and runs, data sheets, aliases, failure classes."""

from __future__ import annotations

from pathlib import Path


def path(*parts: str) -> Path:
    """Path of a packaged file or folder, `path("runs")` for the sample runs.

    kbstats is installed unpacked, so the resource is a real path.

    Raises:
        FileNotFoundError: Nothing of that name comes with kbstats.
    """
    from importlib.resources import files  # noqa: PLC0415 - loads when used

    found = Path(str(files("kbstats.data").joinpath(*parts)))
    if not found.exists():
        raise FileNotFoundError(f"{'/'.join(parts)} is not part of kbstats.data")
    return found
