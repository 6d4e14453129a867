"""What a kernel's text gives reason to look at. Hints are badges: no verdict was ever right by grep alone."""

from __future__ import annotations

import re

HINTS = {
    "threads": r"\b(threading|multiprocessing|concurrent\.futures)\b|std::thread|pthread_create",
    "streams": r"cuda\.Stream\(|cudaStreamCreate|cudaStreamNonBlocking",
    "clocks": r"elapsed_time|perf_counter|cuda\.Event\b|cuda\.synchronize\s*=|time\.time\b",
    "addresses": r"data_ptr\(\)\s*[,)\]]|\bid\(\w+\)|\._version\b",
    "frames": r"\binspect\.|sys\._getframe|sys\.argv|gc\.get_objects|gc\.get_referrers",
    "process": r"os\._exit|os\.fork|os\.kill|ctypes|sys\.modules|SystemExit|sys\.exit",
    "network": r"\b(socket|urllib|requests|httpx)\b",
    "precision": r"allow_tf32|set_float32_matmul_precision|\.half\(\)|\.bfloat16\(\)|use_fast_math",
    "fallback": r"except[^:]*:\s*\n\s*(return|pass)",
}
"""Name of a hint -> the words that give it."""


def beyond(source: str, reference: str, cast: str | None) -> list[str]:
    """Return the hints that a kernel's source gives and its reference's does not: what that one does accuses nobody.

    >>> beyond("y = x.half()", "x = torch.randn(4, dtype=torch.float16)", None), beyond("x.half()", "", "bfloat16")
    ([], [])
    """
    theirs = {*of(reference), *(["precision"] if cast or re.search(LOWER, reference) else [])}
    return [name for name in of(source) if name not in theirs]


LOWER = r"float16|\bhalf\b|float8"
"""Words of a reference that computes in a lower precision itself."""


def of(source: str) -> list[str]:
    """Return the names of the hints that a source gives.

    >>> of("seen[(x.data_ptr(), x.shape)]")
    ['addresses']
    """
    # A C++ call passes its pointers as arguments; only Python's own uses are a hint.
    text = re.sub(r'(?s)r?""".*?"""', '""', source) if "load_inline" in source else source
    return [name for name, words in HINTS.items() if re.search(words, text if name == "addresses" else source)]
