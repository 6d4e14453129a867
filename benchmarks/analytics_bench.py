"""Boards and classification at size, each against the plain way of doing it.

Generates runs and tool calls in DuckDB, classifies every failing result, and builds the board of
models. Beside it, on the same rows: a polars group-by of the runs, and Python's `re` over a sample of
the same texts with the same rules in the same order.

usage: python benchmarks/analytics_bench.py [--runs 100000] [--calls 10000000]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbstats.analytics import intervals, leaderboards, taxonomy, warehouse
from kbstats.sql import catalog

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

BYTES = 200
FAILING = 0.1
SAMPLE = 20_000

RUNS = """
insert into runs by name
select
    printf('%020x', hash(i)) as run_id, 's' as source_id, 'popcornbench' as format, 'bench' as suite,
    'sweep-' || (i // 5000) as sweep, if(i % 2 = 0, 'all', 'single') as mode, 'model-' || (i % 20) as model,
    1 + (i // 20) % 3 as level, (i // 60) % 250 as problem_id, ((i // 60) % 250) || '_Problem.py' as problem_name,
    i // 15000 as sample_id, 'NVIDIA H100' as hardware, 10 as n_turns, $calls // $runs as n_tool_calls,
    case hash(i, 1) % 5 when 0 then 'incorrect' when 1 then 'compile_fail' else 'correct' end as source_outcome,
    hash(i, 1) % 5 > 1 as correct, hash(i, 1) % 5 <> 1 as compiled,
    if(hash(i, 1) % 5 > 1, exp((hash(i, 2) % 1000) / 300.0 - 1), null) as speedup,
    100.0 + hash(i, 3) % 900 as wall_s, hash(i, 4) % 100000 as total_tokens
from range($runs) as t(i)
"""
# Texts as harnesses write them, each made different by a hash and filled to the same length.
CALLS = """
insert into tool_calls by name
select
    printf('%020x', hash(j % $runs)) as run_id, j // $runs as turn, 0 as seq,
    -- The last turn hands in what the run's own label says of it.
    case when j // $runs = $calls // $runs - 1 then 'submit_kernel' when j % 3 = 0 then 'compile_kernel'
        else 'run_correctness' end as tool,
    not fails as ok, if(fails, 'failed', 'passed') as outcome,
    left(
        if(fails, list_extract([
            'run_correctness FAILED: check did not pass ((0 / 5) trials).\ncorrectness_issue: Output mismatch ',
            'compile_kernel FAILED: kernel did not compile.\nmain.cpp:9:5: error: ''f'' was not declared in this ',
            'run_correctness FAILED: ?\nruntime_error: CUDA error: an illegal memory access was encountered ',
            'submit_kernel FAILED: kernel did not compile.\ntorchrun eval timed out after 300s (world_size=8) ',
            'compile_kernel FAILED: kernel did not compile.\nk.cu(3): error: expected a ";" ',
            'run_correctness FAILED: something that no rule names '
        ], 1 + (hash(j, 5) % 6)::bigint), 'run_correctness PASSED: (5 / 5) correctness trials all passed. ')
        || repeat(md5(j::varchar) || ' ', 6), $bytes
    ) as result_text
from (select i as j, hash(i, 6) % 1000 < 1000 * $failing as fails from range($calls) as t(i))
"""


def best(step: Callable[[], Any], rounds: int = 5) -> float:
    """Seconds of the fastest of several rounds."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return min(times)


def once(name: str, step: Callable[[], Any]) -> float:
    """Seconds of one step, said while it runs."""
    print(f"{name} …", end=" ", flush=True, file=sys.stderr)
    seconds = best(step, 1)
    print(f"{seconds:.1f} s", file=sys.stderr)
    return seconds


def python_rules(texts: list[str]) -> int:
    """The rules of the taxonomy by `re`, first match wins, as a person would write it; how many have a class."""
    rules = [
        (needle, re.compile(pattern) if pattern else None)
        for _, _, field, needle, pattern in taxonomy.rules()
        if field in {"text", "diagnostic"}
    ]
    named = 0
    for text in texts:
        for needle, pattern in rules:
            if (needle is None or needle in text) and (pattern is None or pattern.search(text)):
                named += 1
                break
    return named


def polars_board(con: duckdb.DuckDBPyConnection) -> Callable[[], Any]:
    """The same counts by a group-by over the runs, without outcomes, findings and trust."""
    import polars as pl

    names = ["model", "correct", "speedup", "total_tokens", "wall_s", "problem_id"]
    rows = con.execute(f"select {', '.join(names)} from runs").fetchall()
    frame = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)

    def step() -> Any:
        fast = pl.col("speedup") > 1
        return frame.group_by("model").agg(
            pl.len(), pl.col("correct").sum(), pl.col("speedup").median().alias("median"),
            pl.col("speedup").log().mean().exp().alias("geomean"), fast.sum().alias("fast_1"),
            (pl.col("speedup") > 2).sum().alias("fast_2"), pl.col("problem_id").n_unique(),
            pl.col("total_tokens").sum(), pl.col("wall_s").sum(),
        )  # fmt: skip

    return step


def board_queries(con: duckdb.DuckDBPyConnection) -> None:
    """What a board asks of the database, without the bootstrap."""
    leaderboards.select_runs(con, leaderboards.Filters(trust="audited"))
    con.execute(leaderboards.board_sql()).fetchall()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--calls", type=int, default=10_000_000)
    args = parser.parse_args()
    size = {"runs": args.runs, "calls": args.calls - args.calls % args.runs}
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "bench.duckdb"
        con = warehouse.open_write(path)
        con.execute(RUNS, size)
        once("generating", lambda: con.execute(CALLS, size | {"bytes": BYTES, "failing": FAILING}))
        seconds = {
            f.name: once(f.name, lambda f=f: con.execute(f"create or replace table {f.name} as from {f.name}__source"))
            for f in catalog.models()
            if f.stored
        }
        stored = once("intervals", lambda: intervals.store(con))
        (failing,) = con.execute("select count(*) from tool_calls where not ok").fetchone() or (0,)
        texts = con.execute("select result_text from tool_calls where not ok limit ?", [SAMPLE]).fetchall()
        by_re = best(lambda: python_rules([t for (t,) in texts]), 2) * failing / max(len(texts), 1)
        queries, group_by = best(lambda: board_queries(con)), best(polars_board(con))
        board = best(lambda: leaderboards.board(con, leaderboards.Filters(trust="audited")), 3)
        con.execute("checkpoint")
        con.close()
        kbstats = str(Path(sys.executable).with_name("kbstats"))
        command = [kbstats, "leaderboard", "--trust", "audited", "--db", str(path)]
        whole = best(lambda: subprocess.run(command, check=True, capture_output=True), 3)
        disk = path.stat().st_size
    print(f"{size['runs']:,} runs, {size['calls']:,} tool calls of {BYTES} bytes, {failing:,} of them failing")
    print(f"{'database':<52}{disk / 1e6:>10,.0f} MB")
    rows = [
        ("classification of the failing results", seconds["classified_texts"], "Python re, scaled up", by_re),
        ("outcomes, findings, trust", sum(seconds.values()) - seconds["classified_texts"], "", None),
        ("intervals of the common boards, kept", stored, "", None),
        ("board: its queries", queries, "polars group-by", group_by),
        ("board: with notes and intervals", board, "polars group-by", group_by),
        ("kbstats leaderboard", whole, "", None),
    ]
    for name, s, other, base in rows:
        beside = f"{other}: {base:,.3f} s, ratio {s / base:.2f}" if base else ""
        print(f"{name:<52}{s:>10,.3f} s   {beside}".rstrip())


if __name__ == "__main__":
    main()
