"""check.log of kernelbench.com: what it says of a failure, under the keys of the KernelBench family."""

from __future__ import annotations

from kbstats.ingest import diagnostics

_WRONG = ("tolerance exceeded", "mismatch", "max_abs_diff", "not close", "wrong shape", "wrong dtype")
_BUILT = frozenset({"nvcc", "gcc", "ld", "ptxas", "ninja", "triton"})
_IMPORTED = ("ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "has no attribute 'Model")


def read_check(text: str) -> dict[str, str]:
    """One key at most: `correctness_issue`, `compilation_error`, `runtime_error` or `error`.

    The check prints `PASS`, or `FAIL: why`, or dies with a traceback; a compiler's output may stand
    before either. What the reason names comes first, since warnings of a build stand in passing
    logs as well.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or lines[-1].startswith("PASS"):
        return {}
    reason = next((line for line in lines if line.startswith("FAIL")), None)
    if reason and any(w in reason for w in _WRONG):
        return {"correctness_issue": reason}
    if reason and "forbidden op" in reason:
        return {"error": reason}
    built = any(d.toolchain in _BUILT and "error" in d.severity for d in diagnostics.parse(text, building=True))
    if built or any(w in text for w in _IMPORTED):
        return {"compilation_error": text}
    if "Traceback" in text or "Error" in text:
        return {"runtime_error": text}
    return {"error": reason or "\n".join(lines[-20:])}
