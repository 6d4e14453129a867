"""A generated corpus in the shape of real trajectories, for speed and memory measurements.

Shape (what matters to a reader of such files): every turn repeats the whole conversation so far
in `messages_in`, so that a file grows with the square of its turns; kernels of 2 to 12 KB are
sent in most turns, as a tool call's arguments and again as the model's function call; results
carry compiler output or mismatch lists. A kernel is an edit of the one before: seven of ten lines
stay, as in published runs (median 0.73). Median file about 0.5 MB, the largest about 2.7 MB, 600
files about 400 MB. Text is drawn from a seeded generator: distinct in every run, the same in
every corpus of one seed.

usage: python benchmarks/corpus.py DIR [--runs 600] [--seed 1] [--scale 1.0]
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Any

KEPT = 0.7
"""Share of a kernel's lines that the next one keeps."""
MODELS = ("gen-small", "gen-medium", "gen-large")
WORDS = [
    "tile",
    "warp",
    "block",
    "shared",
    "memory",
    "stride",
    "register",
    "unroll",
    "coalesced",
    "bank",
    "conflict",
    "reduction",
    "epilogue",
    "fused",
    "vector",
    "load",
    "store",
    "latency",
    "occupancy",
    "launch",
    "grid",
    "accumulate",
    "pipeline",
    "prefetch",
    "barrier",
    "shuffle",
    "predicate",
    "bounds",
    "check",
]
OPENING = "You write CUDA kernels. Replace the reference below by a faster ModelNew with the same results.\n"


def words(rng: random.Random, n: int) -> str:
    """`n` words of prose."""
    return " ".join(rng.choices(WORDS, k=n))


def kernel(rng: random.Random, name: str, n_lines: int, lines: list[str] | None = None) -> str:
    """A kernel-like source: a Python module with CUDA text in it.

    Args:
        rng: Decides what it says.
        name: The kernel's name.
        n_lines: How long its body is.
        lines: The body of the kernel before; becomes this one's, with three of ten lines new.
    """
    lines = [] if lines is None else lines
    del lines[n_lines:]
    for i in range(n_lines):
        if i < len(lines) and rng.random() < KEPT:
            continue
        line = (
            f"    float v{i} = x[(blockIdx.x * blockDim.x + threadIdx.x) * {rng.randrange(1, 999)} + {i}]"
            f" * {rng.random():.6f}f;  // {words(rng, rng.randrange(3, 9))}"
        )
        lines[i : i + 1] = [line]
    body = "\n".join(lines)
    return (
        "import torch\nimport torch.nn as nn\nfrom torch.utils.cpp_extension import load_inline\n\n"
        f'SOURCE = r"""\n__global__ void {name}(const float* x, float* y) {{\n{body}\n'
        '    y[threadIdx.x] = v0;\n}\n"""\n\n'
        "class ModelNew(nn.Module):\n    def forward(self, x):\n        return x\n"
    )


def result(rng: random.Random, tool: str, name: str) -> tuple[str, bool, dict[str, Any]]:
    """Result text, success and metadata of one tool call."""
    kind = rng.random()
    if tool == "compile_kernel":
        if kind < 0.55:
            return "compile_kernel PASSED: kernel compiled without errors.", True, {"compiled": True}
        lines = "".join(
            f"/tmp/build/{name}/main.cu({rng.randrange(10, 300)}): error: "
            f'identifier "v{rng.randrange(99)}" is undefined\n'
            f"      float w = {words(rng, 8)};\n                ^\n\n"
            for _ in range(rng.randrange(1, 9))
        )
        head = f"compile_kernel FAILED: RuntimeError.\nError building extension '{name}': [1/3] nvcc "
        text = f"{head}{words(rng, 120)}\n{lines}"
        return text, False, {"compiled": False, "error": "RuntimeError"}
    if tool == "run_correctness":
        if kind < 0.3:
            return (
                "run_correctness PASSED: (5 / 5) trials all matched the reference.",
                True,
                {"compiled": True, "correctness": True},
            )
        worst = ", ".join(f"'{rng.random():.6f}'" for _ in range(5))
        text = (
            "run_correctness FAILED: (0 / 5) trials did not all match.\ncorrectness_issue: Output mismatch\n"
            f"max_difference: [{worst}]\navg_difference: [{worst}]"
        )
        return text, False, {"compiled": True, "correctness": False}
    ok = kind < 0.6
    text = (
        "submit_kernel PASSED: (5 / 5) correctness trials all passed.\nKernel runtime: 1.20 μs"
        if ok
        else "submit_kernel FAILED: correctness check did not pass ((0 / 5) trials).\n"
        "correctness_issue: Output mismatch"
    )
    return text, ok, {"compiled": True, "correctness": ok, "runtime": 1.2 if ok else -1.0, "ref_runtime": 2.4}


def trajectory(rng: random.Random, model: str, level: int, problem: int, scale: float) -> dict[str, Any]:
    """One run. The number of turns decides its size."""
    n_turns = min(18, 3 + int(rng.lognormvariate(1.6, 0.55)))
    conversation: list[dict[str, Any]] = [
        {"role": "user", "content": OPENING + kernel(rng, "reference", int(40 * scale))}
    ]
    turns: list[dict[str, Any]] = []
    ok = False
    lines: list[str] = []
    for t in range(n_turns):
        final = t == n_turns - 1
        tool = "submit_kernel" if final else rng.choice(("compile_kernel", "run_correctness", "run_correctness"))
        name = f"k_{level}_{problem}_{t}"
        source = kernel(rng, name, int(rng.randrange(20, 140) * scale), lines)
        text, ok, metadata = result(rng, tool, name)
        call_id = f"call_{t}"
        response = [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": words(rng, rng.randrange(30, 250))}]},
            {
                "type": "function_call",
                "name": tool,
                "arguments": json.dumps({"kernel_code": source}),
                "call_id": call_id,
            },
        ]
        turns.append(
            {
                "turn_id": t,
                "messages_in": list(conversation),
                "response": response,
                "feedback_to_model": "",
                "llm_latency_s": round(rng.uniform(5, 90), 1),
                "turn_wall_clock_s": 95.0,
                "tools_wall_clock_s": 4.0,
                "tool_output_truncated": False,
                "reasoning_logged_truncated": False,
                "provider_truncated": False,
                "provider_truncation_hints": [],
                "is_final": final,
                "submitted_kernel": source if final else None,
                "llm_usage": {"input_tokens": 900 * (t + 1), "output_tokens": 700, "total_tokens": 900 * (t + 1) + 700},
                "tool_calls": [
                    {
                        "tool_name": tool,
                        "args": {"kernel_code": source},
                        "result_text": text,
                        "success": ok,
                        "metadata": metadata,
                    }
                ],
            }
        )
        conversation += [*response, {"type": "function_call_output", "call_id": call_id, "output": text}]
    runtime = round(rng.uniform(0.05, 4.0), 3) if ok else -1.0
    final_result = {
        "compiled": True,
        "correctness": ok,
        "metadata": {"hardware": "NVIDIA H100 80GB HBM3", "correctness_trials": "(5 / 5)"},
        "runtime": runtime,
        "ref_runtime": round(rng.uniform(0.1, 6.0), 3),
        "runtime_stats": {"mean": runtime, "std": 0.01, "num_trials": 100} if ok else {},
        "numerical_precision": {"max_abs_error": 1e-6},
        "sol_stats": {},
        "energy_stats": {},
        "roofline_stats": {"occupancy_pct": 40.0},
    }
    return {
        "problem_id": problem,
        "level": level,
        "problem_name": f"{problem}_generated.py",
        "run_name": "generated_all",
        "model_name": model,
        "backend": "cuda",
        "precision": "fp32",
        "max_turns": 18,
        "max_tool_calls": 30,
        "tools_enabled": ["compile_kernel"],
        "started_at": "2026-05-01T10:00:00Z",
        "finished_at": "2026-05-01T10:20:00Z",
        "agent_wall_clock_s": 1200.0,
        "chat_history_window_truncated": False,
        "truncation_occurred": False,
        "total_turns": n_turns,
        "total_tool_calls": n_turns,
        "llm_input_tokens": 900 * n_turns,
        "llm_output_tokens": 700 * n_turns,
        "llm_total_tokens": 1600 * n_turns,
        "outcome": "correct" if ok else "incorrect",
        "final_result": final_result,
        "turns": turns,
    }


def write(folder: Path, runs: int = 600, seed: int = 1, scale: float = 1.0) -> int:
    """Write the corpus; returns its size in bytes. A folder that holds it already is kept."""
    total = 0
    for i in range(runs):
        model, level, problem = MODELS[i % 3], 1 + (i // 3) % 3, 1 + i // 9
        path = folder / "generated_all" / "original" / model / f"level_{level}_problem_{problem}_trajectory.json"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            rng = random.Random(f"{seed}/{i}")
            path.write_text(
                json.dumps(trajectory(rng, model, level, problem, scale), indent=2, ensure_ascii=False),
                encoding="utf-8",
            )
        total += path.stat().st_size
    return total


def main() -> None:
    """Write a corpus and say how large it is."""
    parser = argparse.ArgumentParser(description="Write a generated corpus of trajectories.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0)
    args = parser.parse_args()
    print(f"{write(args.folder, args.runs, args.seed, args.scale) / 1e6:.0f} MB in {args.runs} files")


if __name__ == "__main__":
    main()
