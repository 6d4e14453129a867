"""One result in about twenty lines, for a person."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MEANING = {
    "CONFIRMED": "right on every challenge, and as fast as claimed",
    "CONFIRMED_FASTER": "right on every challenge, and faster than claimed",
    "CONFIRMED_REDUCED": "right within a lower precision than the problem's",
    "SLOWER_THAN_CLAIMED": "right on every challenge, faster than the reference, but not as fast as claimed",
    "NO_SPEEDUP": "right on every challenge, but not faster than the reference",
    "INCONCLUSIVE": "right on every challenge; the timing cannot tell",
    "INCORRECT": "gives wrong answers",
    "FLAKY": "fails now and then",
    "HACK": "does not do the work it is timed for",
    "DEGENERATE_PROBLEM": "the problem cannot tell a kernel from none",
    "BUILD_FAILED": "cannot be built or constructed here",
    "CRASHED": "its process ended without an answer",
    "TIMEOUT": "did not answer in time",
    "UNVERIFIABLE": "cannot be judged here",
}


def lines(doc: dict[str, Any]) -> Iterator[str]:
    """Yield the lines for one document."""
    word = doc["verdict"].partition(":")[0]
    yield f"{doc['verdict']}: {MEANING.get(word, '')}".rstrip(": ")
    yield f"  kernel       {doc['kernel_sha256'][:16]}  {doc.get('problem_name') or ''}".rstrip()
    yield f"  correctness  {doc['correctness']} ({doc.get('verified_calls', 0)} verified calls)"
    if doc["speedup"] is not None:
        claim = f"; claimed {doc['claimed_speedup']:.2f}x" if doc.get("claimed_speedup") else ""
        if claim and not doc.get("claim_compared"):
            claim += " elsewhere, not compared"
        yield f"  speedup      {doc['speedup']:.3f}x [{doc['speedup_lo']:.3f}, {doc['speedup_hi']:.3f}] against {doc['baseline']}: {doc['speed']}{claim}"  # noqa: E501
        for name, base in doc.get("baselines", {}).items():
            if "ref_us" in base:
                yield f"  {name:<12} {base['ref_us']:.1f} us, kernel {base['cand_us']:.1f} us, {base['pairs']} pairs of processes"  # noqa: E501
    if doc["gate"]:
        from kbstats.analytics.verify.runner.gates import NAMES

        yield f"  refused at   {doc['gate']}: {NAMES.get(doc['gate'], '')}".rstrip(": ")
    if doc["witness"]:
        for key, value in doc["witness"].items():
            yield f"    {key:<20} {json.dumps(value)[:160]}"
    if doc["badges"]:
        yield f"  badges       {', '.join(doc['badges'])}"
    passed = [f"{c['gate']} {'ok' if c['passed'] else 'FAILED'} ({c['n']})" for c in doc["checks"]]
    yield f"  checks       {', '.join(passed)}"
    if doc.get("would_pass"):
        yield f"  others       {', '.join(f'{k} {_pass(v)}' for k, v in doc['would_pass'].items())}"
    machine = doc["machine"]
    yield f"  machine      {doc['gpu_model'] or machine.get('cpu')}, torch {machine.get('torch')}, {doc['verified_at'][:19]}Z"  # noqa: E501
    sandbox = doc["sandbox"].get("mode", "none")
    yield f"  sandbox      {sandbox}" + ("" if doc["sandbox_ok"] else ", not sufficient: this result never counts")


def _pass(good: bool) -> str:
    return "would pass" if good else "would fail"
