"""The verifier's suite on a machine that has a CUDA device and torch, and nothing else of ours.

PART=i/n runs one share of the cases. What stands in benchmarks/results/verify-suite-gpu.json is not run
again. Everything that came out is packed into one archive in $OUT, or in build/: unpack it over
benchmarks/results to go on from there.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

from tree import ROOT

RESULTS = ROOT / "benchmarks" / "results" / "verify-suite-gpu.json"
SECONDS = 480
"""After this long no further case is begun: a call fits into nine minutes."""


def main() -> int:
    """Run the suite; the exit status is its."""
    out = Path(os.environ.get("OUT", ROOT / "build"))
    out.mkdir(parents=True, exist_ok=True)
    made = {"--json": out / RESULTS.name, "--documents": out / "documents.jsonl"}
    command = [
        sys.executable,
        str(ROOT / "benchmarks" / "verify_suite.py"),
        *("--device", "cuda", "--part", os.environ.get("PART", "1/1"), "--seconds", str(SECONDS)),
        *("--parts", "adversaries,persistent,noop,twice,same,loaded,honest", "--budget-s", "10"),
        *("--resume", str(RESULTS)),
        *(str(word) for pair in made.items() for word in pair),
        *sys.argv[1:],
    ]
    status = subprocess.run(command, cwd=ROOT, check=False).returncode
    archive = out / "gpu-test.tar.gz"
    with tarfile.open(archive, "w:gz") as packed:
        for path in made.values():
            if path.exists():
                packed.add(path, path.name)
                path.unlink()
    print(f"results: {archive}", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main())
