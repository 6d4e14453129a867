"""Fixtures that all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

KBSTATS = Path(sys.executable).with_name("kbstats")


class Cli:
    """The installed command line, run as a user runs it."""

    def __call__(
        self, *args: object, env: dict[str, str] | None = None, cwd: Path | None = None, input: str | None = None
    ):
        clean = {k: v for k, v in os.environ.items() if not k.startswith("KBSTATS_") and k != "COLUMNS"}
        return subprocess.run(
            [str(KBSTATS), *map(str, args)],
            capture_output=True,
            text=True,
            env=clean | {"COLUMNS": "80"} | (env or {}),
            cwd=cwd,
            input=input,
            timeout=300,
        )


@pytest.fixture(scope="session")
def kbstats() -> Cli:
    return Cli()


@pytest.fixture(scope="session")
def real() -> Path:
    """The folder of real traces that `$KBSTATS_REAL` names."""
    folder = os.environ.get("KBSTATS_REAL")
    if not folder:
        pytest.skip("KBSTATS_REAL names no folder of real traces")
    return Path(folder)
