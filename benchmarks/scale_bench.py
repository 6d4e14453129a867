"""A corpus of many tool calls, read in shards: seconds, peak memory and bytes of each step.

Each generated run has 100 tool calls of about 1 KB: 25 turns of four calls, and a kernel a turn. Every
step is a process of its own, so that its peak memory is its own; shards run two at a time.

usage: python benchmarks/scale_bench.py [--runs 1000 10000] [--shards 4] [--json FILE] [--keep DIR]
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import corpus

TURNS, CALLS = 25, 4
TEXT_BYTES = 1000
LANES = 2
SITE_RUNS = 100
"""Runs of the part that a site is built of."""
KBSTATS = str(Path(sys.executable).with_name("kbstats"))


def run_of(i: int, texts: list[str], template: dict[str, Any]) -> dict[str, Any]:
    """One run; texts are cut from a pool at places that no other call has."""
    rng = random.Random(i)
    turns = []
    for t in range(TURNS):
        name = f"k_{i}_{t}"
        source = f"import torch\n# {name}\nclass ModelNew(torch.nn.Module):\n    pass\n{rng.choice(texts)[:400]!r}\n"
        calls = []
        for c in range(CALLS):
            final = t == TURNS - 1 and c == CALLS - 1
            tool = "submit_kernel" if final else rng.choice(("compile_kernel", "run_correctness"))
            text, ok, metadata = corpus.result(rng, tool, name)
            fill = f"\n[{i}.{t}.{c}] " + rng.choice(texts)
            calls.append(
                {
                    "tool_name": tool,
                    "args": {"kernel_code": source},
                    "result_text": (text + fill)[:TEXT_BYTES],
                    "success": ok,
                    "metadata": metadata,
                }
            )
        turns.append(template["turns"][0] | {"turn_id": t, "is_final": t == TURNS - 1, "tool_calls": calls})
    model, level, problem = corpus.MODELS[i % 3], 1 + (i // 3) % 3, 1 + (i // 9) % 250
    return template | {
        "turns": turns,
        "model_name": model,
        "level": level,
        "problem_id": problem,
        "problem_name": f"{problem}_generated.py",
        "run_name": f"generated_{i // 2250}",
        "total_turns": TURNS,
        "total_tool_calls": TURNS * CALLS,
    }


def write(folder: Path, runs: int) -> int:
    """Write the corpus; its size in bytes."""
    rng = random.Random(0)
    texts = [corpus.words(rng, 160) for _ in range(2000)]
    template = corpus.trajectory(rng, "m", 1, 1, 0.2)
    template["turns"] = [template["turns"][0] | {"messages_in": [], "response": []}]
    total = 0
    for i in range(runs):
        run = run_of(i, texts, template)
        name = f"level_{run['level']}_problem_{run['problem_id']}_trajectory.json"
        path = folder / run["run_name"] / "original" / run["model_name"] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = json.dumps(run).encode()
        path.write_bytes(data)
        total += len(data)
    return total


class Step:
    """A process, its seconds and its peak memory."""

    def __init__(self, *words: object) -> None:
        self.start = time.perf_counter()
        self.process = subprocess.Popen(
            [KBSTATS, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ
        )

    def end(self) -> dict[str, float]:
        """Wait for it."""
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        if self.process.returncode:
            raise SystemExit(said.decode())
        return {
            "s": round(time.perf_counter() - self.start, 2),
            "cpu_s": round(used.ru_utime + used.ru_stime, 2),
            "peak_mb": round(used.ru_maxrss / 1024, 1),
        }


def size(path: Path) -> int:
    """Bytes of a file or a folder."""
    return sum(p.stat().st_size for p in path.rglob("*") if p.is_file()) if path.is_dir() else path.stat().st_size


def measure(runs: int, shards: int, folder: Path) -> dict[str, Any]:
    """All steps over one corpus."""
    started = time.perf_counter()
    raw = write(folder / "runs", runs)
    out: dict[str, Any] = {"runs": runs, "tool_calls": runs * TURNS * CALLS, "raw_bytes": raw}
    out["generate_s"] = round(time.perf_counter() - started, 2)
    lake, db = folder / "lake", folder / "k.duckdb"
    started = time.perf_counter()
    found = []
    for i in range(0, shards, LANES):
        steps = [
            Step("ingest", folder / "runs", "--shard", f"{n}/{shards}", "--lake", lake)
            for n in range(i, min(i + LANES, shards))
        ]
        found += [s.end() for s in steps]
    out["shards"] = {
        "s": round(time.perf_counter() - started, 2),
        "cpu_s": round(sum(f["cpu_s"] for f in found), 2),
        "peak_mb": max(f["peak_mb"] for f in found),
    }
    out["lake_bytes"] = size(lake)
    part = sorted((folder / "runs").rglob("*_trajectory.json"))[:SITE_RUNS]
    Step("ingest", *part, "--db", folder / "part.duckdb").end()
    shutil.rmtree(folder / "runs")
    out["attach"] = Step("lake", "attach", lake, "--db", db).end()
    out["db_bytes"] = size(db)
    out["board"] = Step("leaderboard", "--db", db).end()
    out["failures"] = Step("failures", "--db", db).end()
    out["site"] = Step("site", "build", "--db", folder / "part.duckdb", "-o", folder / "site").end()
    out["site_bytes"] = size(folder / "site")
    out["compact"] = Step("lake", "compact", lake).end()
    out["lake_bytes_merged"] = size(lake)
    return out


def main() -> None:
    """Measure each size and print them, the ratios between neighbours last."""
    parser = argparse.ArgumentParser(description="Measure an ingest in shards at several sizes.")
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, help="where it writes; default the folder of temporary files")
    args = parser.parse_args()
    rows = []
    for runs in args.runs:
        with tempfile.TemporaryDirectory(prefix="kbstats-scale-", dir=args.folder) as folder:
            rows.append(measure(runs, args.shards, Path(folder)))
        print(json.dumps(rows[-1]), flush=True)
    for a, b in itertools.pairwise(rows):
        ratio = {k: round(b[k]["s"] / a[k]["s"], 2) for k in ("shards", "attach", "board", "failures", "compact")}
        memory = {k: round(b[k]["peak_mb"] / a[k]["peak_mb"], 2) for k in ("shards", "attach", "board")}
        print(f"x{b['runs'] / a['runs']:g} runs: seconds {ratio}, peak memory {memory}")
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
