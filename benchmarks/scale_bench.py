"""A corpus of many tool calls, read in shards: seconds, peak memory and bytes of each step.

Each generated run has 100 tool calls of about 1 KB: 25 turns of four calls, and a kernel a turn. Every
step is a process of its own, so that its peak memory is its own; shards run two at a time. The site is
that of the first hundred runs. The traces are deleted when the shards have read them.

CPU seconds tell more than those of the clock wherever other work shares the machine; the load is noted.
The results are written after every step, so that a run that is stopped leaves what it measured.

usage: python benchmarks/scale_bench.py [--runs 1000 10000] [--shards 4] [--json FILE] [--folder DIR]
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import platform
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpus

if TYPE_CHECKING:
    from collections.abc import Callable

TURNS, CALLS = 25, 4
TEXT_BYTES = 1000
KINDS = 199
"""Runs whose turns differ in more than the run's number."""
RUN = "@@RUN@@"
LANES = 2
SITE_RUNS = 100
"""Runs of the part that a site is built of."""
KBSTATS = str(Path(sys.executable).with_name("kbstats"))


def turns_of(n: int, texts: list[str], template: dict[str, Any]) -> bytes:
    """The turns of a run, as JSON, in which `RUN` stands for its number; texts are cut from a pool."""
    rng = random.Random(n)
    turns = []
    for t in range(TURNS):
        name = f"k_{RUN}_{t}"
        source = f"import torch\n# {name}\nclass ModelNew(torch.nn.Module):\n    pass\n{rng.choice(texts)[:400]!r}\n"
        calls = []
        for c in range(CALLS):
            final = t == TURNS - 1 and c == CALLS - 1
            tool = "submit_kernel" if final else rng.choice(("compile_kernel", "run_correctness"))
            text, ok, metadata = corpus.result(rng, tool, name)
            fill = f"\n[{RUN}.{t}.{c}] " + rng.choice(texts)
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
    return json.dumps(turns).encode()


def rest_of(i: int, template: dict[str, Any]) -> dict[str, Any]:
    """All of a run but its turns."""
    problem = 1 + (i // 9) % 250
    rest = template | {
        "model_name": corpus.MODELS[i % 3],
        "level": 1 + (i // 3) % 3,
        "problem_id": problem,
        "problem_name": f"{problem}_generated.py",
        "run_name": f"generated_{i // 2250}",
        "total_turns": TURNS,
        "total_tool_calls": TURNS * CALLS,
    }
    del rest["turns"]
    return rest


def write(folder: Path, runs: range) -> int:
    """Write some runs of the corpus; their size in bytes. Each text and each kernel holds its run's number."""
    rng = random.Random(0)
    texts = [corpus.words(rng, 160) for _ in range(2000)]
    template = corpus.trajectory(rng, "m", 1, 1, 0.2)
    template["turns"] = [template["turns"][0] | {"messages_in": [], "response": []}]
    kinds = [turns_of(n, texts, template) for n in range(KINDS)]
    total = 0
    for i in runs:
        rest = rest_of(i, template)
        name = f"level_{rest['level']}_problem_{rest['problem_id']}_trajectory.json"
        path = folder / rest["run_name"] / "original" / rest["model_name"] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        turns = kinds[i % KINDS].replace(RUN.encode(), b"%07d" % i)
        data = json.dumps(rest).encode()[:-1] + b', "turns": ' + turns + b"}"
        path.write_bytes(data)
        total += len(data)
    return total


def generate(folder: Path, runs: int) -> dict[str, float]:
    """Write the corpus; its size in bytes, and the CPU seconds it took."""
    with multiprocessing.get_context("spawn").Pool(LANES) as pool:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shares = [(folder, range(i, min(i + 5000, runs))) for i in range(0, runs, 5000)]
        sizes = pool.starmap(write, shares, chunksize=1)
        pool.close()
        pool.join()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"bytes": sum(sizes), "cpu_s": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 2)}


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


def shards_of(traces: Path, lake: Path, shards: int) -> dict[str, float]:
    """All shards, two at a time: their seconds in all, and the peak memory of one."""
    started = time.perf_counter()
    found = []
    for i in range(0, shards, LANES):
        steps = [
            Step("ingest", traces, "--shard", f"{n}/{shards}", "--lake", lake)
            for n in range(i, min(i + LANES, shards))
        ]
        found += [s.end() for s in steps]
    return {
        "s": round(time.perf_counter() - started, 2),
        "cpu_s": round(sum(f["cpu_s"] for f in found), 2),
        "peak_mb": max(f["peak_mb"] for f in found),
    }


def measure(runs: int, shards: int, folder: Path, done: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """All steps over one corpus; `done` takes what is known so far after each of them."""
    out: dict[str, Any] = {"runs": runs, "tool_calls": runs * TURNS * CALLS, "shards_of": shards}
    traces, lake, db, part = folder / "runs", folder / "lake", folder / "k.duckdb", folder / "part.duckdb"

    def step(name: str, take: Callable[[], dict[str, float]], *sizes: tuple[str, Path]) -> None:
        out[name] = take() | {"load": round(os.getloadavg()[0], 1)}
        out.update({key: size(path) for key, path in sizes})
        done(out)

    def command(*words: object) -> Callable[[], dict[str, float]]:
        return lambda: Step(*words).end()

    step("generate", lambda: generate(traces, runs))
    step("shards", lambda: shards_of(traces, lake, shards), ("lake_bytes", lake))
    first = sorted(traces.rglob("*_trajectory.json"))[:SITE_RUNS]
    step("part", command("ingest", *first, "--db", part))
    step("site", command("site", "build", "--db", part, "-o", folder / "site"), ("site_bytes", folder / "site"))
    shutil.rmtree(traces)
    step("attach", command("lake", "attach", lake, "--db", db), ("db_bytes", db))
    step("board", command("leaderboard", "--db", db))
    step("failures", command("failures", "--db", db))
    step("audit", command("audit", "--db", db))
    run_id = "select min(run_id) as run_id from runs"
    found = subprocess.run(
        [KBSTATS, "sql", run_id, "--db", db, "--format", "csv"], capture_output=True, text=True, check=True
    )
    step("show", command("show", found.stdout.split()[-1], "--db", db))
    step("compact", command("lake", "compact", lake), ("lake_bytes_merged", lake))
    step("attach_merged", command("lake", "attach", lake, "--db", db), ("db_bytes_merged", db))
    step("show_merged", command("show", found.stdout.split()[-1], "--db", db))
    return out


STEPS = (
    "generate", "shards", "attach", "board", "failures", "audit", "show", "compact", "attach_merged", "show_merged",
)  # fmt: skip


def machine() -> dict[str, Any]:
    """What the figures stand on."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpus": len(os.sched_getaffinity(0)),
        "memory_mb": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20,
        "machine": platform.machine(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("duckdb", "pyarrow", "kbstats")},
    }


def main() -> None:
    """Measure each size and print them, the ratios between neighbours last."""
    parser = argparse.ArgumentParser(description="Measure an ingest in shards at several sizes.")
    parser.add_argument("--runs", type=int, nargs="+", default=[1000, 10_000])
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--folder", type=Path, help="where it writes; default the folder of temporary files")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    about = machine() | {"command": "python " + " ".join(["benchmarks/scale_bench.py", *sys.argv[1:]])}

    def keep(row: dict[str, Any]) -> None:
        if args.json:
            args.json.write_text(json.dumps(about | {"sizes": [*rows, row]}, indent=1) + "\n", encoding="utf-8")

    for runs in args.runs:
        with tempfile.TemporaryDirectory(prefix="kbstats-scale-", dir=args.folder) as folder:
            row = measure(runs, args.shards, Path(folder), keep)
        rows.append(row)
        print(json.dumps(row), flush=True)
    for a, b in itertools.pairwise(rows):
        cpu = {k: round(b[k]["cpu_s"] / a[k]["cpu_s"], 2) for k in STEPS}
        memory = {k: round(b[k]["peak_mb"] / a[k]["peak_mb"], 2) for k in STEPS if "peak_mb" in a[k]}
        print(f"x{b['runs'] / a['runs']:g} runs: CPU seconds {cpu}, peak memory {memory}")


if __name__ == "__main__":
    main()
