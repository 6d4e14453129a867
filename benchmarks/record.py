"""Records scripted kernel attempts as trajectories, with everything really run.

    python benchmarks/record.py --out runs --run-name samples_default

Each file `benchmarks/attempts/{model}/level_{L}_problem_{P}.toml` is one run of
one scripted policy: the kernels it knows and, turn by turn, which tool it calls
on which kernel. The recorder builds, checks, times and profiles them as an
agent's tools would, each call in a process of its own with a time limit, and
writes what came of it in the trajectory format of the POPCORNBENCH family:

    {out}/{run_name}/{variant}/{model}/level_{L}_problem_{P}_trajectory.json
    {out}/{run_name}/{variant}/{model}/level_{L}_problem_{P}_kernel.py
    {out}/{run_name}/sweep_config.json   {out}/{run_name}/machine.json

A run that says `company = true` never gets as far as being timed (a submission that
passes its check there is an error): such runs are played first and together,
`--jobs` at a time. The others then have the machine for themselves. A run that
cannot be played is reported at the end and does not stop the rest.

Needs the standard library and torch. `--device cpu` plays the attempts that can run
there: checks, no times; `--set N=64` makes the problems smaller. `--dry-run` plays
nothing: it reads every script and checks every reference against itself on the CPU.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import multiprocessing
import shutil
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch  # noqa: F401 - imported before any fork, so that each child finds it loaded

sys.path.insert(0, str(Path(__file__).parent))
from attempts.harness import evaluate, measure, tools
from attempts.harness.isolate import run_isolated
from attempts.harness.script import Run, load_runs

HERE = Path(__file__).parent
TOOLS = [
    "compile_kernel",
    "run_correctness",
    "profile_kernel",
    "static_check",
    "submit_kernel",
    "get_gpu_specs",
]
MAX_TURNS, MAX_TOOL_CALLS = 6, 12
PRECISION = "fp32"
DEFAULT_LIMIT_S = 150.0

INSTRUCTIONS = """You optimise GPU kernels. Write a class ModelNew with the same interface as Model.
Call the tools to compile, check and profile it; submit_kernel ends the run."""


def now() -> str:
    """UTC, to the second, as the format has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def opening(run: Run) -> list[dict[str, Any]]:
    """The first turn's input: who speaks, and the problem."""
    task = (
        f"You are given the following PyTorch reference:\n```python\n{run.reference}\n```\n"
        f"Backend: {run.backend}. Precision: {PRECISION}. At most {MAX_TURNS} turns."
    )
    return [
        {"role": "system", "content": f"{INSTRUCTIONS}\n\n{run.about}"},
        {"role": "user", "content": task},
    ]


def speak(run: Run, number: int) -> list[dict[str, Any]]:
    """What the scripted policy answers in one turn."""
    turn = run.turns[number]
    items: list[dict[str, Any]] = []
    if "reasoning" in turn:
        summary = [{"type": "summary_text", "text": turn["reasoning"]}]
        items.append({"type": "reasoning", "id": f"rs_{number}", "summary": summary, "content": None})
    if "say" in turn:
        content = [{"type": "output_text", "text": turn["say"]}]
        items.append({"type": "message", "role": "assistant", "content": content})
    arguments = {"kernel_code": run.kernels[turn["kernel"]]} if "kernel" in turn else {}
    items.append(
        {
            "type": "function_call",
            "call_id": f"call_{number}",
            "name": turn["tool"],
            "arguments": json.dumps(arguments),
        }
    )
    return items


def take_turn(
    run: Run, number: int, messages: list[dict[str, Any]], bench: tools.Bench
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Plays one turn; returns its record and, when it submitted, the final result."""
    started = time.monotonic()
    record: dict[str, Any] = {
        "turn_id": number,
        "messages_in": list(messages),
        "response": [],
        "feedback_to_model": "",
        "llm_latency_s": 0.0,
        "turn_wall_clock_s": 0.0,
        "tools_wall_clock_s": 0.0,
        "tool_output_truncated": False,
        "reasoning_logged_truncated": False,
        "provider_truncated": False,
        "provider_truncation_hints": [],
        "is_final": False,
        "submitted_kernel": None,
        "llm_usage": None,
        "tool_calls": [],
    }
    final = None
    if "fails" in run.turns[number]:
        record["feedback_to_model"] = f"LLM call failed: {run.turns[number]['fails']}"
    else:
        record["response"] = speak(run, number)
    spoken = time.monotonic()
    record["llm_latency_s"] = round(spoken - started, 3)
    if record["response"]:
        request = record["response"][-1]
        arguments = json.loads(request["arguments"])
        tool = request["name"]
        called = tools.call(tool, arguments.get("kernel_code", ""), bench)
        record["tool_calls"] = [
            {
                "tool_name": tool,
                "args": arguments,
                "result_text": called.text,
                "success": called.ok,
                "metadata": called.metadata,
            }
        ]
        messages += record["response"]
        output = {"type": "function_call_output", "call_id": request["call_id"], "output": called.text}
        messages.append(output)
        record["tools_wall_clock_s"] = round(time.monotonic() - spoken, 3)
        if tool == "submit_kernel":
            record["submitted_kernel"] = arguments["kernel_code"]
            if {"compiled", "correctness"} <= called.metadata.keys():
                record["is_final"], final = True, called.metadata
    record["turn_wall_clock_s"] = round(time.monotonic() - started, 3)
    return record, final


def play(run: Run, run_name: str, bench: tools.Bench) -> dict[str, Any]:
    """Plays a run from its first turn to its end and returns the trajectory."""
    started_at, clock = now(), time.monotonic()
    messages, turns, final = opening(run), [], None
    for number in range(min(len(run.turns), MAX_TURNS)):
        limit_s = run.turns[number].get("limit_s", bench.limit_s)
        limited = replace(bench, limit_s=limit_s)
        record, final = take_turn(run, number, messages, limited)
        turns.append(record)
        told = " ".join(str(c["result_text"]).splitlines()[0] for c in record["tool_calls"])
        print(f"  {run.model}/{run.stem} {number} {told}", flush=True)
        if final or not record["response"]:
            break
    if final is None:
        outcome = "error"
    elif not final["compiled"]:
        outcome = "compile_fail"
    else:
        outcome = "correct" if final["correctness"] else "incorrect"
    return {
        "problem_id": run.problem_id,
        "level": run.level,
        "problem_name": run.problem_name,
        "run_name": run_name,
        "model_name": run.model,
        "backend": run.backend,
        "precision": PRECISION,
        "max_turns": MAX_TURNS,
        "max_tool_calls": MAX_TOOL_CALLS,
        "tools_enabled": TOOLS,
        "started_at": started_at,
        "finished_at": now(),
        "agent_wall_clock_s": round(time.monotonic() - clock, 3),
        "chat_history_window_truncated": False,
        "truncation_occurred": False,
        "total_turns": len(turns),
        "total_tool_calls": sum(len(t["tool_calls"]) for t in turns),
        # A script has no tokens: 0 is the format's word for unknown.
        "llm_input_tokens": 0,
        "llm_output_tokens": 0,
        "llm_total_tokens": 0,
        "outcome": outcome,
        "final_result": final,
        "turns": turns,
    }


def sweep_config(run_name: str, variant: str, runs: list[Run], trials: tuple[int, int]) -> dict[str, Any]:
    """The sweep's configuration, in the form the family writes beside its runs."""
    return {
        "run": {
            "name": run_name,
            "runs_dir": "runs",
            "dataset_src": "local",
            "variants": [variant],
            "levels": sorted({run.level for run in runs}),
            "problem_subset": [],
            "backend": "triton",
            "precision": PRECISION,
            "timing_method": "cuda_event",
            "num_correct_trials": trials[0],
            "num_perf_trials": trials[1],
            "tools": "default",
        },
        "agent": {"max_turns": MAX_TURNS, "max_tool_calls": MAX_TOOL_CALLS, "turn_delay_s": 0.0},
        "parallelism": {"num_gpu_devices": 1, "agents_per_gpu": 1, "perf_lock_per_gpu": True},
        "report": {"enabled": False},
        "models": [{"name": name, "api_kind": "scripted"} for name in dict.fromkeys(run.model for run in runs)],
    }


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file as the family does: indented, text as it is."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("runs"), help="folder that receives {run_name}/")
    parser.add_argument("--run-name", default="samples_default")
    parser.add_argument("--variant", default="original")
    parser.add_argument("--attempts", type=Path, default=HERE / "attempts")
    parser.add_argument("--problems", type=Path, default=HERE.parent / "data" / "problems")
    parser.add_argument("--gpus", type=Path, default=HERE.parent / "data" / "gpus.toml")
    parser.add_argument("--root", type=Path, default=Path("/tmp/suite"), help="neutral folder for builds")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--perf-trials", type=int, default=100)
    parser.add_argument("--only", action="append", default=[], metavar="MODEL/level_L_problem_P")
    parser.add_argument("--skip", type=Path, help="leave out what this folder holds already")
    parser.add_argument("--jobs", type=int, default=6, help="runs in company at a time")
    parser.add_argument("--dry-run", action="store_true", help="read the scripts, try the references, on a CPU")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=INT", help="change a size")
    parser.add_argument("--check-batch-fixed", action="store_true", help="never draw a batch, in checks and timing")
    return parser.parse_args()


def record(run: Run, args: argparse.Namespace) -> str:
    """Plays one run, writes its files and says how it ended.

    Raises:
        RuntimeError: a run in company was measured, beside others on the same machine.
    """
    sizes = {name: int(value) for name, _, value in (item.partition("=") for item in args.set)}
    root = args.root / run.model / f"{run.stem}_cache"
    root.mkdir(parents=True)
    job = evaluate.Job(
        kind="compile",
        reference=run.reference,
        kernel="",
        folder=root,
        device=args.device,
        trials=args.trials,
        perf_trials=args.perf_trials,
        fixed_batch=run.fixed_batch,
        sizes=sizes,
    )
    bench = tools.Bench(job, root, args.gpus, run.backend, DEFAULT_LIMIT_S, forbidden=run.forbidden)
    trajectory = play(run, args.run_name, bench)
    result = trajectory["final_result"] or {}
    times = (result.get("runtime", -1.0), result.get("ref_runtime", -1.0))
    if run.company and times[0] > 0:
        raise RuntimeError("this run was timed beside others: take `company` out of its script")
    folder = args.out / args.run_name / args.variant / run.model
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / f"{run.stem}_trajectory.json", trajectory)
    submitted = [t["submitted_kernel"] for t in trajectory["turns"] if t["submitted_kernel"]]
    if submitted:
        (folder / f"{run.stem}_kernel.py").write_text(submitted[-1], encoding="utf-8")
    return f"{trajectory['outcome']}, {times[0]} ms against {times[1]} ms"


def record_all(runs: list[Run], args: argparse.Namespace) -> list[str]:
    """Records every run, those in company first; returns the names of those that could not be."""
    failed, started = [], time.monotonic()

    def told(run: Run, ended: str) -> None:
        at = time.monotonic() - started
        print(f"[{at:5.0f} s] {run.model}/{run.stem} ({run.problem_name}) -> {ended}", flush=True)

    # Forked, so that no worker has to import torch again; the parent never touched CUDA.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(args.jobs, mp_context=context) as pool:
        waiting = {pool.submit(record, run, args): run for run in runs if run.company}
        for done in as_completed(waiting):
            error = done.exception()
            if error:
                failed.append(f"{waiting[done].model}/{waiting[done].stem}: {type(error).__name__}: {error}")
            told(waiting[done], str(error or done.result()))
    for run in runs:
        if not run.company:
            try:
                told(run, record(run, args))
            except Exception as error:  # noqa: BLE001 - the other runs are still worth having
                failed.append(f"{run.model}/{run.stem}: {type(error).__name__}: {error}")
                told(run, str(error))
    return failed


def rehearse(runs: list[Run], args: argparse.Namespace) -> list[str]:
    """Reads every script and checks every reference against itself; returns what is wrong."""
    faults = []
    for run in runs:
        for number, turn in enumerate(run.turns):
            if "fails" in turn:
                continue
            if turn["tool"] not in TOOLS or turn.get("kernel", "") not in {"", *run.kernels}:
                faults.append(f"{run.model}/{run.stem}: turn {number} names no tool or kernel")
        if len(run.turns) > MAX_TURNS:
            faults.append(f"{run.model}/{run.stem}: over {MAX_TURNS} turns")
    for name, reference in {run.problem_name: run.reference for run in runs}.items():
        folder = args.root / "rehearsal" / name
        folder.mkdir(parents=True)
        twin = f"{reference}\n\nModelNew = Model\npopcorn_pri = None\n"
        job = evaluate.Job("correctness", reference, twin, folder, device="cpu", trials=2)
        child = run_isolated(lambda job=job: evaluate.evaluate(job), folder, DEFAULT_LIMIT_S, 2)
        passed = bool(child.result and child.result["correctness"])
        print(f"{name}: {'the same twice' if passed else 'differs from itself'}", flush=True)
        if child.result is None or "runtime_error" in child.result["metadata"]:
            faults.append(f"{name}: {child.result or child.output[-300:]}")
    return faults


def main() -> None:
    """Records every run asked for."""
    args = arguments()
    # Loaded here for the children; importing it touches no device.
    with contextlib.suppress(ImportError):
        importlib.import_module("triton")
    runs = load_runs(args.attempts, args.problems, args.only, args.check_batch_fixed)
    everyone = runs
    if args.skip:
        runs = [r for r in runs if not list(args.skip.rglob(f"{r.model}/{r.stem}_trajectory.json"))]
    shutil.rmtree(args.root, ignore_errors=True)
    args.root.mkdir(parents=True)
    if args.dry_run:
        sys.exit("\n".join(rehearse(runs, args)) or 0)
    target = args.out / args.run_name
    target.mkdir(parents=True, exist_ok=True)
    print(f"{len(runs)} runs, {sum(run.company for run in runs)} of them together", flush=True)
    failed = record_all(runs, args)
    write_json(
        target / "sweep_config.json",
        sweep_config(args.run_name, args.variant, everyone, (args.trials, args.perf_trials)),
    )
    found = run_isolated(measure.machine, args.root, 60, 2).result or {}
    write_json(target / "machine.json", found | {"recorded_at": now()})
    if failed:
        sys.exit("not recorded:\n" + "\n".join(failed))


if __name__ == "__main__":
    main()
