"""Break what decides a number, one token at a time, and see whether a test notices.

usage: python benchmarks/mutate.py [--only PART]… [--jobs N] [--sample N] [--seed N] [--json FILE] [--list]

The files that decide a number are in `benchmarks/mutants.toml`, each with its tests. A mutant is the
file with one token changed (benchmarks/mutants.py); its tests run until one fails
(benchmarks/mutate_run.py), in a copy of the tree. One that none notices has survived: it wants a test, or
an entry in `mutants.toml` that says why it changes no number.

Exit status: 0 all were noticed or are answered, 1 some survived, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import json
import os
import platform
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

from mutants import Mutant, mutants
from mutate_run import run
from tree import ROOT, linked

COUNTS = ("mutants", "noticed", "time_limit", "answered", "survived")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=True, text=True).stdout


def _copy(target: Path) -> None:
    """The tree as git knows it, new files included; and a folder of links to it, as it installs."""
    for name in _git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0"):
        if name and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    linked(target)


def _warm_up() -> None:
    """Import once what all children need and what takes long."""
    import coverage  # noqa: F401
    import duckdb  # noqa: F401
    import msgspec  # noqa: F401
    import numpy as np  # noqa: F401
    import pytest  # noqa: F401
    import scipy.stats  # noqa: F401
    import sqlglot  # noqa: F401


def chosen(file: str, source: str, args: argparse.Namespace) -> list[Mutant]:
    """All mutants of a file, or so many as were asked for, in the order of the text."""
    found = mutants(file, source)
    if args.sample and args.sample < len(found):
        found = sorted(random.Random(args.seed).sample(found, args.sample), key=lambda m: m.start)
    return found


def one_file(tree: Path, file: str, tests: list[str], why: dict[str, str], args: argparse.Namespace) -> dict[str, Any]:
    """Counts of a file and what survived, printed as it is known."""
    source = (tree / file).read_text(encoding="utf-8")
    every = chosen(file, source, args)
    begun = _spent()
    became = run(tree, file, every, tests, max(args.jobs, 1))
    counts = Counter(became.values())
    left = []
    answered = 0
    for m in every:
        number, line = m.place(source)
        if became[m] != "survived":
            if line in why:
                print(f"answered, but noticed: {file}:{number}: {line}", flush=True)
        elif line in why:
            answered += 1
        else:
            left.append(f"{number}: {line}")
            print(f"survived {file}:{number}: {line}", flush=True)
    row = {
        "mutants": len(every), "noticed": counts["noticed"], "time_limit": counts["time limit"],
        "answered": answered, "survived": len(left),
    }  # fmt: skip
    print(f"{file:40} " + "  ".join(f"{k.replace('_', ' ')} {v}" for k, v in row.items()), flush=True)
    made = {
        "date": dt.datetime.now(dt.UTC).date().isoformat(), "commit": _git("rev-parse", "--short", "HEAD").strip(),
        "python": platform.python_version(), "cpu_s": round(_spent() - begun),
    }  # fmt: skip
    return row | {"survivors": left} | made


def keep(path: Path, files: dict[str, dict[str, Any]], targets: dict[str, Any]) -> None:
    """Put the rows of these files among those of an earlier run; each says of which commit it is."""
    old = json.loads(path.read_text(encoding="utf-8"))["files"] if path.is_file() else {}
    rows = {f: (old | files)[f] for f in targets if f in old | files}
    told = {"total": {n: sum(r[n] for r in rows.values()) for n in COUNTS}, "files": rows}
    path.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _spent() -> float:
    """Processor time so far, with that of the children that ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in both)


def main() -> int:
    """Mutate, print survivors and a line a file."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", default=[], help="Files whose name holds this; repeatable.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--sample", type=int, help="Only so many mutants of each file, at random.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="Keep the counts there, a row a file.")
    parser.add_argument("--list", action="store_true", help="Print the mutants and run nothing.")
    args = parser.parse_args()
    config = tomllib.loads((ROOT / "benchmarks" / "mutants.toml").read_text(encoding="utf-8"))
    targets = {t["file"]: t["tests"] for t in config["target"]}
    wanted = [f for f in targets if not args.only or any(part in f for part in args.only)]
    if args.list:
        for file in wanted:
            source = (ROOT / file).read_text(encoding="utf-8")
            for number, line in (m.place(source) for m in chosen(file, source, args)):
                print(f"{file}:{number}: {line}")
        return 0
    _warm_up()
    files = {}
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch)
        _copy(tree)
        for file in wanted:
            why = {a["line"]: a["why"] for a in config.get("answered", []) if a["file"] == file}
            try:
                files[file] = one_file(tree, file, targets[file], why, args)
            except ValueError as e:
                sys.exit(str(e))
            if args.json and not args.sample:
                keep(args.json, files, targets)
    total = {n: sum(f[n] for f in files.values()) for n in COUNTS}
    print(", ".join(f"{v} {k.replace('_', ' ')}" for k, v in total.items()) + f", {_spent():,.0f} s of processor time")
    return 1 if total["survived"] else 0


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
