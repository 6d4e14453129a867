"""The harness's own words in a tool's answer: what stands at its very beginning.

Everything behind them may quote the kernel, which can print and raise whatever it likes. So a time
limit, or a tool that failed by itself, is only what the harness says itself. The same prefix stands
in sql/models/harness_prefix.sql.
"""

from __future__ import annotations

import re

_PREFIX = re.compile(
    r"(?:\w+ FAILED(?: \([^)\n]*\))?: )?(?:kernel did not compile\.\s+|unexpected error during tool execution\.\s+)?"
)
_VERDICT = re.compile(r"(?:\(cached\) )?\w+ (?P<word>PASSED|FAILED)\b")
_LIMIT = re.compile(r"[\w ]{0,60}limit reached")
_BY_ITSELF = re.compile(
    r"enqueue error: |eval server did not respond within \d|(?:persistent build/)?lock contention"
    r"|eval returned None\b|torchrun eval produced no result file|(?:rank \d+: )?init_process_group failed"
    # compiled before, gone from the cache now
    r"|(?:eval_kernel_against_ref raised: |ImportError\.\s+)?ImportError: /\S*_cache/k_[0-9a-f]+/\S*: "
    r"cannot open shared object file"
    r"|nsight-python package\b|(?:ncu|nsys|cuobjdump) not found\b"
)
_UNEXPECTED = re.compile(r"(?:\w+ FAILED(?: \([^)\n]*\))?: )?unexpected error during tool execution\b")


def start(text: str) -> int:
    """Where the harness's own words on what went wrong begin, in characters."""
    m = _PREFIX.match(text)
    return m.end() if m else 0


def failed_by_itself(text: str) -> bool:
    """Whether the tool says that it failed, whatever the kernel."""
    return bool(_UNEXPECTED.match(text) or _BY_ITSELF.match(text, start(text)))


def verdict(text: str) -> bool | None:
    """Success by the first words of an answer; None where they do not say."""
    if m := _VERDICT.match(text):
        return m["word"] == "PASSED"
    return False if _LIMIT.match(text) else None
