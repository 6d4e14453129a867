"""Speed as ratios against a named baseline of the same run.

Each command and its baseline run in turn (A B A B), best of several: what disturbs one disturbs
the other. Printed, never asserted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from importlib.resources import as_file, files
from pathlib import Path

KBSTATS = str(Path(sys.executable).with_name("kbstats"))


def best(commands: dict[str, list[str]], rounds: int) -> dict[str, float]:
    """The best wall time of each command in seconds, all of them interleaved."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            times[name].append(time.perf_counter() - start)
    return {name: min(values) for name, values in times.items()}


def main() -> None:
    """Print the table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as tmp, as_file(files("kbstats.data")) as data:
        db = str(Path(tmp) / "bench.duckdb")
        subprocess.run([KBSTATS, "ingest", str(data / "runs"), "--db", db], check=True, capture_output=True)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "python -c 'import duckdb'": [sys.executable, "-c", "import duckdb"],
            "python -c 'import typer, rich.table'": [sys.executable, "-c", "import typer, rich.table"],
            "kbstats --help": [KBSTATS, "--help"],
            "kbstats leaderboard": [KBSTATS, "leaderboard", "--db", db],
            "kbstats ingest, nothing changed": [KBSTATS, "ingest", str(data / "runs"), "--db", db],
        }
        seconds = best(commands, args.rounds)
    base = seconds["python -c pass"]
    print(f"{'command':<40}{'ms':>8}{'x python -c pass':>20}")
    for name, s in seconds.items():
        print(f"{name:<40}{s * 1000:>8.0f}{s / base:>20.1f}")
    print(flush=True)
    here = Path(__file__).resolve().parent
    subprocess.run([sys.executable, str(here / "ingest_bench.py")], check=True)


if __name__ == "__main__":
    main()
