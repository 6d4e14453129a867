"""A small static check: a few textual rules, strict ones and advisory ones."""

from __future__ import annotations

import re

STRICT = (
    (r"^\s*try\s*:", "Contains try-except block (potential fallback bypass)"),
    (r"^\s*pass\s*$", "Contains 'pass' statement (inheritance bypass)"),
    (r"torch\.cuda\.Event\s*=|elapsed_time\s*=", "Reassigns timing function"),
    (r"^\s*(import threading|from threading)", "Uses threading"),
    (r"^\s*(import inspect|from inspect)", "Looks at its caller"),
)
ADVISORY = (
    (r"torch\.(addmm|matmul|mm|bmm|softmax)\b", "Uses torch computation op: torch.{}"),
    (r"torch\.cuda\.(Stream|stream)\b", "Uses torch.cuda.{} (work may leave the timed stream)"),
    (r"\.(bfloat16|half)\(|tl\.(bfloat16|float16)", "Precision downgrade: {}"),
)
REQUIRED = {
    "triton": (r"@triton\.(jit|autotune)", "Missing @triton.jit or @triton.autotune"),
    "cuda": (r"__global__", "Missing __global__ kernel definition"),
}


def static_check(
    source: str, backend: str, forbidden: tuple[str, ...] = ()
) -> tuple[list[str], list[str]]:
    """Errors and warnings of a candidate's text; `forbidden` are the problem's own taboos."""
    errors = [text for pattern, text in STRICT if re.search(pattern, source, re.MULTILINE)]
    errors += [f"forbidden op used: {name}" for name in forbidden if name in source]
    pattern, text = REQUIRED[backend]
    if not re.search(pattern, source):
        errors.append(text)
    warnings = []
    for pattern, text in ADVISORY:
        found = re.search(pattern, source)
        if found:
            warnings.append(text.format(found.group(1) or found.group(0)))
    return errors, warnings
