"""What a harness says itself, and what its answer only quotes."""

from __future__ import annotations

import pytest
from kbstats.ingest import harness_words

OWN = [
    "enqueue error: queue is closed",
    "eval server did not respond within 900s",
    "persistent build/lock contention after retries. Try again.",
    "eval returned None (lock contention)",
    "torchrun eval produced no result file (rc=1)",
    "rank 3: init_process_group failed: address already in use",
    "ImportError: /runs/l5_p3_cache/k_01ab23cd45ef/x/x.so: cannot open shared object file: No such file or directory",
    "nsight-python package not installed",
    "ncu not found in PATH",
]


@pytest.mark.parametrize("words", OWN)
def test_a_tool_that_failed_by_itself(words):
    assert harness_words.failed_by_itself(words)
    assert harness_words.failed_by_itself(f"submit_kernel FAILED: {words}")
    assert harness_words.failed_by_itself(f"profile_kernel FAILED (multi-rank, world_size=8): {words}")
    assert harness_words.failed_by_itself(f"run_correctness FAILED: kernel did not compile.\n{words}")
    assert not harness_words.failed_by_itself(f"run_correctness FAILED: (0 / 5) trials did not all match.\n{words}")
    assert not harness_words.failed_by_itself(f"compile_kernel FAILED: RuntimeError.\n{words}")


def test_an_exception_of_the_tool():
    assert harness_words.failed_by_itself("run_correctness FAILED: unexpected error during tool execution.\nKeyError: 'x'")
    assert not harness_words.failed_by_itself("compile_kernel FAILED: x\nunexpected error during tool execution.")


def test_a_library_that_the_kernel_itself_asks_for_is_the_kernels_fault():
    text = "compile_kernel FAILED: ImportError.\nImportError: libmine.so: cannot open shared object file"
    assert not harness_words.failed_by_itself(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("run_correctness PASSED: (5 / 5) trials", True),
        ("(cached) profile_kernel PASSED: profiling complete.", True),
        ("compile_kernel FAILED: all checks PASSED", False),  # its own print is quoted
        ("profile_kernel FAILED (multi-rank, world_size=8): x", False),
        ("Tool call limit reached", False),
        ("a kernel PASSED", None),
        ("", None),
    ],
)
def test_verdict(text, said):
    assert harness_words.verdict(text) is said
