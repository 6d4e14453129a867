"""Run mypy on the tree as it installs: no type checker sees the sub-packages by themselves."""

from __future__ import annotations

import os
import subprocess
import sys

from tree import ROOT, linked


def main() -> int:
    """Check everything; the exit status is mypy's."""
    env = os.environ | {"MYPYPATH": str(linked())}
    command = [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), "-p", "kbstats"]
    return subprocess.run(command, env=env, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
