"""The tests that need a CUDA device, on a machine that has torch and pytest and nothing else of ours."""

from __future__ import annotations

import os
import subprocess
import sys

from tree import ROOT, linked


def main() -> int:
    """Run tests/verify/gpu with this interpreter; the exit status is pytest's."""
    env = os.environ | {"PYTHONPATH": str(linked()), "KBSTATS_GPU_TEST": "1"}
    # The project's own pytest settings name plug-ins that such a machine lacks.
    options = ["-c", os.devnull, f"--rootdir={ROOT}", "--import-mode=importlib", "-p", "no:cacheprovider", "-ra"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, "tests/verify/gpu", *sys.argv[1:]], env=env, cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
