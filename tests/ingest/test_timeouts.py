"""Time limits by scope, with the budget in seconds."""

from __future__ import annotations

import pytest
from kbstats.ingest import timeouts


@pytest.mark.parametrize(
    ("text", "tool", "scope", "budget"),
    [
        (
            "x FAILED: kernel did not compile.\ntorchrun eval timed out after 300s (world_size=8); sent",
            "submit_kernel",
            "torchrun",
            300,
        ),
        (
            'profile_kernel FAILED (x): torchrun worker exited with code 1.\nstdout tail: {"error": "ncu+torchrun timed out after 1800s"}',
            "profile_kernel",
            "profile",
            1800,
        ),
        ("profile_kernel FAILED: profiling timed out (900s)", "profile_kernel", "profile", 900),
        ("profile_kernel FAILED (multi-rank, world_size=8): timed out after 1800s.", "profile_kernel", "profile", 1800),
        ("_WorkItemTimeout: work item exceeded soft timeout budget", "run_correctness", "work_item", 2700),
        ("work item exceeded soft timeout budget of 60s", "run_correctness", "work_item", 60),
        ("submit_kernel FAILED: eval server did not respond within 900.5s", "submit_kernel", "eval_rpc", 900.5),
        ("Evaluation timed out", "", "check", None),
        ("subprocess.TimeoutExpired: Command 'x' timed out after 60 seconds", "static_check", "tool", 60),
        ("[rank3]:[E517 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: x", "", "tool", None),
        ("Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, Timeout(ms)=600000)", "", "tool", 600),
    ],
)
def test_in_result(text, tool, scope, budget):
    (row,) = timeouts.rows("r", text, {}, tool=tool, budgets={"work_item": 2700.0})
    assert (row.scope, row.budget_s) == (scope, budget)
    assert "\n" not in row.message


PRINTED = [
    "torchrun eval timed out after 300s",
    "profiling timed out (900s)",
    "ncu+torchrun timed out after 1800s",
    "_WorkItemTimeout: work item exceeded soft timeout budget",
    "eval server did not respond within 900s",
    "Evaluation timed out after 60s",
    "failure_reason: check_timeout",
    "benchmark_timeout",
    "Watchdog caught collective operation timeout: WorkNCCL(Timeout(ms)=600000)",
    "timed out after 60s",
    "subprocess.TimeoutExpired: Command 'x' timed out after 60 seconds",
    "TimeoutError: x",
]


@pytest.mark.parametrize("words", PRINTED)
@pytest.mark.parametrize(
    "around",
    [
        "run_correctness FAILED: (0 / 5) trials did not all match.\nruntime_error: {}",
        "run_correctness FAILED: (0 / 5) trials did not all match.\n{}",
        "compile_kernel FAILED: RuntimeError.\n{}",
        "submit_kernel FAILED: kernel did not compile.\neval_kernel_against_ref raised: RuntimeError: {}",
        "submit_kernel FAILED: kernel did not compile.\nk.cu(3): error: {}",
        'profile_kernel FAILED: worker exited with code 1.\nstdout tail: {{"note": 1}}\n{}',
    ],
)
def test_what_a_kernel_prints_or_raises_is_no_timeout(words, around):
    assert list(timeouts.rows("r", around.format(words), {})) == []


def test_by_code_alone():
    (row,) = timeouts.rows("r", "kernel did not compile.", {"error": "torchrun_timeout", "torchrun_timeout_s": 1800})
    assert (row.scope, row.budget_s) == ("torchrun", 1800)


@pytest.mark.parametrize("text", ["", "run_correctness FAILED: (0 / 5) trials", "timeout = 30", "this took 300s"])
def test_what_is_no_timeout(text):
    assert list(timeouts.rows("r", text, {})) == []


@pytest.mark.parametrize(
    ("feedback", "hit"),
    [
        ("LLM call failed: APITimeoutError: Request timed out.", True),
        ("LLM call failed: ReadTimeout: ", True),
        ("LLM call failed: InternalServerError: upstream timed out", True),
        ("LLM call failed: Empty: ", False),  # a poisoned queue, no time limit
        ("LLM call failed: RateLimitError: 429", False),
        ("The kernel timed out.", False),
    ],
)
def test_in_feedback(feedback, hit):
    assert bool(timeouts.in_feedback(feedback)) is hit
