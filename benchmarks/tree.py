"""The tree as it installs, without installing it: a folder of links in which `ingest/` is `kbstats/ingest`."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def linked(root: Path = ROOT) -> Path:
    """Make the folder of links of a tree; put it on a path and `kbstats` is found there."""
    folders = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-dir"]
    view = root / "typecheck" / "kbstats"
    view.mkdir(parents=True, exist_ok=True)
    for package, folder in folders.items():
        link = view / package.removeprefix("kbstats.")
        if not link.is_symlink():
            link.symlink_to(root / folder, target_is_directory=True)
    return view.parent
