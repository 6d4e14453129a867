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

Needs the standard library and torch. `--device cpu` is a dry run of the attempts
that can run there: checks, no times; `--set N=64` makes the problems smaller.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import shutil
import sys
import time
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch  # noqa: F401 - imported before any fork, so that each child finds it loaded

sys.path.insert(0, str(Path(__file__).parent))
from attempts.harness import evaluate, measure, tools
from attempts.harness.isolate import run_isolated

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


@dataclass(frozen=True)
class Run:
    """One scripted run: its policy, its problem and its turns."""

    model: str
    about: str
    level: int
    problem_id: int
    problem_name: str
    reference: str
    backend: str
    fixed_batch: bool
    kernels: dict[str, str]
    turns: list[dict[str, Any]]

    @property
    def stem(self) -> str:
        """File name without its ending."""
        return f"level_{self.level}_problem_{self.problem_id}"


def now() -> str:
    """UTC, to the second, as the format has it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def load_runs(attempts: Path, problems: Path, only: list[str], fixed_batch: bool) -> list[Run]:
    """Reads the attempt files, in order of model, level and problem."""
    about = tomllib.loads((attempts / "policies.toml").read_text(encoding="utf-8"))
    runs = []
    for path in sorted(attempts.glob("sample-*/level_*_problem_*.toml")):
        model = path.parent.name
        if only and f"{model}/{path.stem}" not in only:
            continue
        spec = tomllib.loads(path.read_text(encoding="utf-8"))
        _, level, _, problem_id = path.stem.split("_")
        problem = next((problems / f"level{level}").glob(f"{problem_id}_*.py"))
        runs.append(
            Run(
                model=model,
                about=about[model],
                level=int(level),
                problem_id=int(problem_id),
                problem_name=problem.name,
                reference=problem.read_text(encoding="utf-8"),
                backend=spec.get("backend", "triton"),
                fixed_batch=fixed_batch or spec.get("check_batch_fixed", False),
                kernels={name: text.lstrip("\n") for name, text in spec["kernels"].items()},
                turns=spec["turns"],
            )
        )
    return runs


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
    """What the scripted policy answers in one turn.

    Raises:
        Exception: a built-in exception, where the script says that the policy fails here.
    """
    turn = run.turns[number]
    if "fails" in turn:
        name, _, message = turn["fails"].partition(": ")
        raise getattr(__import__("builtins"), name)(message)
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
    try:
        record["response"] = speak(run, number)
    except Exception as error:  # noqa: BLE001 - a policy may fail in any way
        record["feedback_to_model"] = f"LLM call failed: {type(error).__name__}: {error}"
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
        limited = tools.Bench(bench.job, bench.root, bench.gpus, run.backend, limit_s)
        record, final = take_turn(run, number, messages, limited)
        turns.append(record)
        print(f"  {number} {' '.join(str(c['result_text']).splitlines()[0] for c in record['tool_calls'])}")
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
        "models": [
            {"name": name, "api_kind": "scripted"} for name in dict.fromkeys(run.model for run in runs)
        ],
    }


def write_json(path: Path, value: Any) -> None:
    """Writes a JSON file as the family does: indented, text as it is."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder that receives {run_name}/")
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
    parser.add_argument("--set", action="append", default=[], metavar="NAME=INT", help="change a size")
    parser.add_argument(
        "--check-batch-fixed", action="store_true", help="never draw a batch, in checks and timing"
    )
    return parser.parse_args()


def main() -> None:
    """Records every run asked for."""
    args = arguments()
    # Loaded here for the children; importing it touches no device.
    with contextlib.suppress(ImportError):
        importlib.import_module("triton")
    runs = load_runs(args.attempts, args.problems, args.only, args.check_batch_fixed)
    sizes = {name: int(value) for name, _, value in (item.partition("=") for item in args.set)}
    target = args.out / args.run_name
    shutil.rmtree(args.root, ignore_errors=True)
    args.root.mkdir(parents=True)
    target.mkdir(parents=True, exist_ok=True)
    for run in runs:
        print(f"{run.model} level {run.level} problem {run.problem_id} ({run.problem_name})", flush=True)
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
        bench = tools.Bench(job, root, args.gpus, run.backend, DEFAULT_LIMIT_S)
        trajectory = play(run, args.run_name, bench)
        folder = target / args.variant / run.model
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / f"{run.stem}_trajectory.json", trajectory)
        submitted = [t["submitted_kernel"] for t in trajectory["turns"] if t["submitted_kernel"]]
        if submitted:
            (folder / f"{run.stem}_kernel.py").write_text(submitted[-1], encoding="utf-8")
        result = trajectory["final_result"] or {}
        times = (result.get("runtime", -1.0), result.get("ref_runtime", -1.0))
        print(f"  -> {trajectory['outcome']}, {times[0]} ms against {times[1]} ms", flush=True)
    write_json(
        target / "sweep_config.json",
        sweep_config(args.run_name, args.variant, runs, (args.trials, args.perf_trials)),
    )
    found = run_isolated(measure.machine, args.root, 60, 2).result or {}
    write_json(target / "machine.json", found | {"recorded_at": now()})


if __name__ == "__main__":
    main()
