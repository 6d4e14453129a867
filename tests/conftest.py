"""Fixtures that all tests share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from subprocess import PIPE

import pytest

KBSTATS = Path(sys.executable).with_name("kbstats")


WARM = sys.platform == "linux"
"""Elsewhere a child of a process with libraries in it is not safe."""


class Cli:
    """The installed command line, run as a user runs it: each call is a process of its own.

    It is a child of one that has imported the libraries (tests/warm.py), unless the environment asked for
    matters before that.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._warm: subprocess.Popen[str] | None = None

    def __call__(
        self, *args: object, env: dict[str, str] | None = None, cwd: Path | None = None, input: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        argv = [str(KBSTATS), *map(str, args)]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("KBSTATS_") and k != "COLUMNS"}
        full = clean | {"COLUMNS": "80"} | (env or {})
        if WARM and not any(k.startswith(("PYTHON", "LC_", "LANG", "LD_")) for k in env or {}):
            return self._child(argv, full, cwd or Path.cwd(), input or "")
        return subprocess.run(argv, capture_output=True, text=True, env=full, cwd=cwd, input=input, timeout=300)

    def _child(self, argv: list[str], env: dict[str, str], cwd: Path, text: str) -> subprocess.CompletedProcess[str]:
        if self._warm is None:
            script = Path(__file__).with_name("warm.py")
            self._warm = subprocess.Popen([sys.executable, script], stdin=PIPE, stdout=PIPE, text=True)
        streams = {name: self._scratch / name for name in ("in", "out", "err")}
        for name, path in streams.items():
            path.write_text(text if name == "in" else "", encoding="utf-8")
        request = {"argv": argv, "env": env, "cwd": str(cwd)} | {k: str(v) for k, v in streams.items()}
        print(json.dumps(request), file=self._warm.stdin, flush=True)
        status = int(self._warm.stdout.readline())
        out, err = (streams[name].read_text(encoding="utf-8") for name in ("out", "err"))
        return subprocess.CompletedProcess(argv, status, out, err)

    def close(self) -> None:
        if self._warm:
            self._warm.communicate()


@pytest.fixture(scope="session")
def kbstats(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    cli = Cli(tmp_path_factory.mktemp("cli"))
    yield cli
    cli.close()


@pytest.fixture(scope="session")
def real() -> Path:
    """The folder of real traces that `$KBSTATS_REAL` names."""
    folder = os.environ.get("KBSTATS_REAL")
    if not folder:
        pytest.skip("KBSTATS_REAL names no folder of real traces")
    return Path(folder)
