"""How long the site takes to build, against a plain renderer of the same traces in the same run.

The floor reads each trace with the standard library and writes its raw text (prompt, reasoning, calls,
kernels, results) escaped into one page a run, by f-strings: no database, no highlighting, no diffs, no
boards, no search, no second page. Ratios are printed; nothing here is a test.

usage: python benchmarks/site_bench.py [--corpus DIR] [--runs 600] [--repeat 3] [--memory]
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def raw_page(path: Path) -> str:
    """One run's text in one page."""
    t = json.loads(path.read_text(encoding="utf-8"))
    e = html.escape
    title = e(str(t["problem_name"]))
    parts = [f"<!doctype html><meta charset=utf-8><title>{title}</title><h1>{e(str(t['model_name']))}</h1>"]
    parts += [f"<pre>{e(str(m.get('content')))}</pre>" for m in (t["turns"][0]["messages_in"] if t["turns"] else [])]
    for turn in t["turns"]:
        parts.append(f"<h2>turn {turn['turn_id']}</h2>")
        parts += [f"<p>{e(s['text'])}</p>" for item in turn["response"] for s in item.get("summary") or []]
        parts += [
            f"<h3>{e(call['tool_name'])}</h3><pre>{e((call.get('args') or {}).get('kernel_code') or '')}</pre>"
            f"<pre>{e(call['result_text'] or '')}</pre><pre>{e(json.dumps(call.get('metadata')))}</pre>"
            for call in turn["tool_calls"]
        ]
    parts.append(f"<pre>{e(json.dumps(t.get('result'), indent=1))}</pre>")
    return "".join(parts)


def floor(corpus: Path, out: Path) -> float:
    """Seconds of the plain renderer."""
    start = time.perf_counter()
    out.mkdir(parents=True)
    for i, path in enumerate(sorted(corpus.rglob("*_trajectory.json"))):
        (out / f"{i}.html").write_text(raw_page(path), encoding="utf-8")
    return time.perf_counter() - start


def command(*args: object) -> tuple[float, float]:
    """Seconds and peak MiB of `kbstats …`."""
    script = (
        "import resource, subprocess, sys, time\n"
        "t = time.perf_counter(); p = subprocess.run(sys.argv[1:], capture_output=True, text=True)\n"
        "assert p.returncode in (0, 3), p.stderr\n"
        "print(time.perf_counter() - t, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)\n"
    )
    kbstats = shutil.which("kbstats") or str(Path(sys.executable).with_name("kbstats"))
    argv = [sys.executable, "-c", script, kbstats, *map(str, args)]
    p = subprocess.run(argv, capture_output=True, text=True, check=True)
    seconds, peak = p.stdout.split()
    return float(seconds), float(peak)


def touch_one(corpus: Path) -> None:
    """Change one result of one run."""
    path = min(corpus.rglob("*_trajectory.json"))
    t = json.loads(path.read_text(encoding="utf-8"))
    t["turns"][0]["tool_calls"][0]["result_text"] += f" changed {time.time_ns()}"
    path.write_text(json.dumps(t), encoding="utf-8")


def weights(out: Path) -> None:
    """Sizes of the front page with all it loads, and of run pages as they open."""
    shared = sum(len(gzip.compress(p.read_bytes())) for p in (out / "static").iterdir() if p.stem != "side")
    front = len(gzip.compress((out / "index.html").read_bytes()))
    parts = f"page {front / 1024:.1f}, static {shared / 1024:.1f}"
    print(f"front page, everything, gz: {(front + shared) / 1024:.1f} KiB ({parts})")
    runs = [p for p in (out / "runs").glob("*.html") if not re.search(r"-turns?-\d+\.html$", p.name)]
    texts = [p.read_text(encoding="utf-8") for p in runs]
    nodes = [len(re.findall(r"<[a-z]", t)) for t in texts]
    zipped = [len(gzip.compress(t.encode())) + shared for t in texts]
    print(
        f"run pages: {max(map(len, texts)) / 1024:.0f} KiB raw, {max(zipped) / 1024:.1f} KiB gz with all it loads, "
        f"{max(nodes)} nodes (largest of {len(runs)})"
    )
    index = out / "search" / "index.js"
    total = sum(p.stat().st_size for p in out.rglob("*") if p.is_file())
    print(
        f"search index: {index.stat().st_size / 1024:.0f} KiB, "
        f"{100 * index.stat().st_size / total:.2f} % of {total / 2**20:.0f} MiB"
    )


def main() -> None:
    """Print ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, help="an existing corpus; by default one is generated")
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="also build a corpus of a tenth: memory against size")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        corpus = work / "corpus"
        if args.corpus:
            shutil.copytree(args.corpus, corpus)
        else:
            subprocess.run([sys.executable, HERE / "corpus.py", corpus, "--runs", str(args.runs)], check=True)
        n = len(list(corpus.rglob("*_trajectory.json")))
        db, out = work / "x.duckdb", work / "site"
        command("ingest", corpus, "--db", db)
        floors, builds, peak = [], [], 0.0
        for i in range(args.repeat):  # in turns: a busy machine slows both
            floors.append(floor(corpus, work / f"floor{i}"))
            shutil.rmtree(work / f"floor{i}")
            shutil.rmtree(out, ignore_errors=True)
            seconds, peak = command("site", "build", "--db", db, "-o", out)
            builds.append(seconds)
        print(f"{n} runs on {len(os.sched_getaffinity(0))} cores, best of {args.repeat}")
        print(f"plain renderer: {min(floors):.2f} s, {n / min(floors):.0f} runs a second")
        print(
            f"full build: {min(builds):.2f} s = {min(builds) / min(floors):.1f} x the plain renderer; "
            f"peak {peak:.0f} MiB"
        )
        touch_one(corpus)
        command("ingest", corpus, "--db", db)
        before = {p: p.stat().st_mtime_ns for p in out.rglob("*") if p.is_file()}
        seconds, _ = command("site", "build", "--db", db, "-o", out)
        changed = [
            p.relative_to(out).as_posix()
            for p in sorted(out.rglob("*"))
            if p.is_file() and before.get(p) != p.stat().st_mtime_ns
        ]
        print(
            f"one run changed: {seconds:.2f} s = {100 * seconds / min(builds):.1f} % of a full build; "
            f"{len(changed)} files written"
        )
        print("  " + ", ".join(changed[:12]))
        weights(out)
        if args.memory:
            files = sorted(corpus.rglob("*_trajectory.json"))
            for path in files[: len(files) - len(files) // 10]:
                path.unlink()
            command("ingest", corpus, "--db", work / "small.duckdb")
            _, small = command("site", "build", "--db", work / "small.duckdb", "-o", work / "small")
            print(f"memory: {small:.0f} MiB at {len(files) // 10} runs, {peak:.0f} MiB at {n}: {peak / small:.2f} x")


if __name__ == "__main__":
    main()
