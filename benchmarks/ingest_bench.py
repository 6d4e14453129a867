"""Ingest against plain loops over the same files, as ratios.

Every row and its peer run in turn (A B A B), best of several, on a generated corpus in the shape of
real trajectories (corpus.py). Printed with the bound that it must keep and the aim; never asserted,
unless `--gate` is given, which fails beyond twice the bound of a cold ingest.

usage: python benchmarks/ingest_bench.py [--corpus DIR] [--rounds 5] [--gate]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).resolve().parent
KBSTATS = str(Path(sys.executable).with_name("kbstats"))
GROUP = 100
"""Files whose records become columns together, as in an ingest."""
CHANGED = 6
"""Files that change in the row `1 % changed`: of 600."""

JSON_LOOP = """
import json, sys, pathlib
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.json")):
    with open(path, encoding="utf-8") as f:
        json.load(f)
"""


class Row(NamedTuple):
    """One line of the table: a ratio, what it must keep and what it aims at."""

    what: str
    against: str
    value: str
    must: str
    aim: str
    kept: bool


def best(tasks: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The best time of each task in seconds, all of them interleaved."""
    times: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(rounds):
        for name, task in tasks.items():
            times[name].append(task())
    return {name: min(values) for name, values in times.items()}


def timed(*command: str) -> float:
    """Wall time of a process, its start included."""
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - start


def in_process(files: list[Path], rounds: int) -> dict[str, float]:
    """Decoders over the same bytes, each document dropped, garbage collection as it comes."""
    from kbstats.ingest.batch import Batch, to_arrow
    from kbstats.ingest.decode import typed
    from kbstats.ingest.format import Source
    from kbstats.ingest.formats.popcornbench import FORMAT
    from kbstats.ingest.formats.popcornbench_records import Trajectory

    try:
        import orjson
    except ImportError:
        return {}

    def over(each: Callable[[Path], object]) -> Callable[[], float]:
        def run() -> float:
            start = time.perf_counter()
            for path in files:
                each(path)
            return time.perf_counter() - start

        return run

    waiting: list[Batch] = []

    def adapt(path: Path) -> None:
        batch = Batch("s", str(path))
        FORMAT.read(Source(path, "s"), batch)
        batch.finish()
        waiting.append(batch)
        if len(waiting) == GROUP or path == files[-1]:
            to_arrow(waiting)
            waiting.clear()

    def decode(path: Path) -> None:
        typed(path.read_bytes(), Trajectory, Batch("s", ""))

    tasks = {"orjson": over(lambda p: orjson.loads(p.read_bytes())), "typed": over(decode), "adapter": over(adapt)}
    return best(tasks, rounds)


def ingests(corpus: Path, tmp: Path, rounds: int) -> dict[str, float]:
    """Whole processes: cold, again, and after a change, beside the json.load loop and an empty query."""
    db = tmp / "bench.duckdb"
    files = sorted(corpus.rglob("*_trajectory.json"))

    def cold() -> float:
        db.unlink(missing_ok=True)
        return timed(KBSTATS, "ingest", str(corpus), "--db", str(db))

    def changed() -> float:
        for path in files[:: max(1, len(files) // CHANGED)][:CHANGED]:
            text = path.read_text(encoding="utf-8")
            mark = f'"finished_at": "2026-05-01T10:{int(time.time()) % 60:02d}:{time.time_ns() % 60:02d}Z"'
            head, _, rest = text.partition('"finished_at": "')
            path.write_text(head + mark + rest[rest.index('"') + 1 :], encoding="utf-8")
        return timed(KBSTATS, "ingest", str(corpus), "--db", str(db))

    found = best(
        {
            "json": lambda: timed(sys.executable, "-c", JSON_LOOP, str(corpus)),
            "cold": cold,
            "again": lambda: timed(KBSTATS, "ingest", str(corpus), "--db", str(db)),
            "select": lambda: timed(KBSTATS, "sql", "select 1", "--db", str(db)),
            "changed": changed,
        },
        rounds,
    )
    cold()
    found["db_bytes"] = float(db.stat().st_size)
    return found


def peak_mb(corpus: Path, tmp: Path) -> float:
    """Largest resident size of an ingest, in MB."""
    db = tmp / "memory.duckdb"
    db.unlink(missing_ok=True)
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, capture_output=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-c", code, KBSTATS, "ingest", str(corpus), "--db", str(db)]
    out = subprocess.run(command, check=True, capture_output=True, text=True)
    db.unlink(missing_ok=True)
    return int(out.stdout) / 1024


def table(speeds: dict[str, float], times: dict[str, float], raw: int) -> list[Row]:
    """The ratios beside their bounds."""
    rows = []
    if speeds:
        for name, what, must, aim in (
            ("typed", "typed decode, one process", 1.5, 2.0),
            ("adapter", "whole adapter", 0.9, 1.3),
        ):
            ratio = speeds["orjson"] / speeds[name]
            kept = ratio >= must
            rows.append(Row(what, "orjson.loads", f"{ratio:.2f}x its speed", f">= {must}x", f">= {aim}x", kept))
    cold, base = times["cold"], times["select"]
    ratio = cold / times["json"]
    rows.append(Row("cold ingest", "json.load loop", f"{ratio:.2f}x its time", "<= 1.5x", "<= 1.0x", ratio <= 1.5))
    for name, what, share, aim in (
        ("again", "again, nothing changed", 0.03, "1 % + 1 x"),
        ("changed", "again, 1 % changed", 0.05, "2 % + 1 x"),
    ):
        limit = share * cold + 2 * base
        value = f"{times[name]:.2f} s = {max(0.0, times[name] - base) / cold:.1%} + 1 x"
        must = f"<= {share:.0%} + 2 x = {limit:.2f} s"
        rows.append(Row(what, "cold + `sql 'select 1'`", value, must, aim, times[name] <= limit))
    share = times["db_bytes"] / raw
    rows.append(Row("database bytes", "raw bytes", f"{share:.4f}", "<= 0.03", "<= 0.015", share <= 0.03))
    return rows


def main() -> int:
    """Print the table; with `--gate` 1 if a cold ingest takes over twice the json.load loop."""
    parser = argparse.ArgumentParser(description="Ingest against plain loops over the same files.")
    parser.add_argument("--corpus", type=Path, help="an existing corpus; it is copied for the changes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", type=Path, help="a corpus of ten times the size, for peak memory")
    parser.add_argument("--gate", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    sys.path.insert(0, str(HERE))
    import corpus as generator

    with tempfile.TemporaryDirectory(prefix="kbstats-bench-") as name:
        tmp = Path(name)
        work = tmp / "corpus"
        if args.corpus:
            shutil.copytree(args.corpus, work)
        else:
            generator.write(work)
        files = sorted(work.rglob("*_trajectory.json"))
        raw = sum(p.stat().st_size for p in files)
        for path in files:  # long ago: nothing is read again because its time is in doubt
            os.utime(path, (time.time() - 3600,) * 2)
        speeds = in_process(files, args.rounds)
        times = ingests(work, tmp, args.rounds)
        rows = table(speeds, times, raw)
        if args.memory:
            one, ten = peak_mb(work, tmp), peak_mb(args.memory, tmp)
            value = f"{ten / one:.2f}x ({one:.0f} MB, {ten:.0f} MB)"
            rows.append(Row("peak memory, 10x the corpus", "1x", value, "<= 1.2x", "flat", ten <= 1.2 * one))
    if args.json:
        print(json.dumps({"seconds": {**speeds, **times}, "raw_bytes": raw}))
        return 0
    print(f"{len(files)} files, {raw / 1e6:.0f} MB, best of {args.rounds}")
    print(" ".join(f"{k} {v:.3f} s" for k, v in {**speeds, **times}.items() if k != "db_bytes"))
    widths = [max(len(str(r[i])) for r in rows) for i in range(5)]
    for row in rows:
        cells = "  ".join(str(c).ljust(w) for c, w in zip(row[:5], widths, strict=True))
        print(f"{'ok ' if row.kept else 'OVER'}  {cells}")
    return int(args.gate and times["cold"] > 2.0 * times["json"])


if __name__ == "__main__":
    sys.exit(main())
