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
    "SUSPECT": "its text gives reason to look; nothing was witnessed",
    "IMPLAUSIBLE": "faster than the memory can write its result",
    "DEGENERATE_PROBLEM": "the problem cannot tell a kernel from none",
    "BUILD_FAILED": "cannot be built or constructed here",
    "CRASHED": "its process ended without an answer",
    "TIMEOUT": "did not answer in time",
    "UNVERIFIABLE": "cannot be judged here",
}


CHANGES = {
    "INCONCLUSIVE": "more pairs of processes (--budget-s), a quieter machine",
    "SLOWER_THAN_CLAIMED": "the claim's own baseline, another clock or driver; the answer itself stands",
    "CONFIRMED": "inputs that no gate tried, native code that fakes the clock within the outer clock's error",
    "CONFIRMED_FASTER": "inputs that no gate tried, native code that fakes the clock within the outer clock's error",
    "NO_SPEEDUP": "another baseline or size; the answer itself stands",
    "FLAKY": "a fix of the race; running again only moves the count",
    "INCORRECT": "a fix of the kernel: the witness repeats with --replay",
    "HACK": "a kernel that does the work: the witness repeats with --replay",
    "UNVERIFIABLE": "what the reason names",
    "IMPLAUSIBLE": "a bandwidth that was measured too low",
}
"""What would change a verdict."""

TITLES = {
    "eager": "eager, launch overhead counts",
    "gpu_busy": "GPU busy, launches queued",
    "cuda_graph": "CUDA graph against graph",
    "eager_tf32": "eager with TF32 allowed",
    "compile": "torch.compile, default",
    "compile_max_autotune": "torch.compile, max-autotune",
}
"""Baselines in words."""


def lines(doc: dict[str, Any]) -> Iterator[str]:
    """Yield the lines for one document: the claim, the measurement, the machine, how sure, what would change it."""
    word = doc["verdict"].partition(":")[0]
    yield f"{doc['verdict']}: {MEANING.get(word, '')}".rstrip(": ")
    yield f"  kernel       {doc['kernel_sha256'][:16]}  {doc.get('problem_name') or ''}".rstrip()
    yield f"  claimed      {_claim(doc)}"
    yield f"  correctness  {doc['correctness']} ({doc.get('verified_calls', 0)} verified calls{_rate(doc)})"
    yield from _measured(doc)
    if doc["gate"]:
        from kbstats.analytics.verify.runner.gates import NAMES

        yield f"  refused at   {doc['gate']}: {NAMES.get(doc['gate'], '')}".rstrip(": ")
    for key, value in (doc["witness"] or {}).items():
        yield f"    {key:<20} {json.dumps(value)[:160]}"
    if doc["badges"]:
        yield f"  badges       {', '.join(doc['badges'])}"
    passed = [f"{c['gate']} {'ok' if c['passed'] else 'FAILED'} ({c['n']})" for c in doc["checks"]]
    yield f"  checks       {', '.join(passed)}"
    yield from _power(doc)
    yield from _least(doc)
    if doc.get("would_pass"):
        yield f"  others       {', '.join(f'{k} {_pass(v)}' for k, v in doc['would_pass'].items())}"
    machine = doc["machine"]
    yield f"  machine      {doc['gpu_model'] or machine.get('cpu')}, torch {machine.get('torch')}, {doc['verified_at'][:19]}Z{_state(doc)}"  # noqa: E501  one line for a person
    sandbox = doc["sandbox"].get("mode", "none")
    yield f"  sandbox      {sandbox}" + ("" if doc["sandbox_ok"] else ", not sufficient: this result never counts")
    if word in CHANGES:
        yield f"  would change {CHANGES[word]}"


def _claim(doc: dict[str, Any]) -> str:
    if not doc.get("claimed_speedup"):
        return "nothing; the kernel counts as confirmed above 1.01x"
    against = f" against {doc['claimed_baseline']}" if doc.get("claimed_baseline") else ""
    where = f" on {doc['claimed_gpu']}" if doc.get("claimed_gpu") else ""
    apart = "" if doc.get("claim_compared") else ", not compared with this machine"
    return f"{doc['claimed_speedup']:.2f}x{against}{where}{apart}"


def _rate(doc: dict[str, Any]) -> str:
    calls = doc.get("verified_calls", 0)
    return ", none wrong" if doc["correctness"] == "passed" and calls else ""


def _measured(doc: dict[str, Any]) -> Iterator[str]:
    if doc["speedup"] is None:
        return
    yield (
        f"  measured     {doc['speedup']:.3f}x, {doc['speed']} than the reference"
        if doc["speed"] != "same"
        else (f"  measured     {doc['speedup']:.3f}x, not told apart from the reference")
    )
    for name, base in doc.get("baselines", {}).items():
        title = TITLES.get(name, name)
        if "ref_us" not in base:
            yield f"    {title:<30} not measured: {base.get('missing', '')[:80]}"
            continue
        interval = (
            f"{base['speedup']:.3f}x [{base['speedup_lo']:.3f}, {base['speedup_hi']:.3f}]" if "speedup" in base else ""
        )
        yield f"    {title:<30} {interval}  {base['ref_us']:.1f} to {base['cand_us']:.1f} us, {base['pairs']} pairs"
        if outer := base.get("outer_clock"):
            control = base.get("control_deviation")
            off = "no control" if control is None else f"control off by {100 * control:.1f} %"
            dropped = f", {base['dropped_pairs']} pairs dropped" if base.get("dropped_pairs") else ""
            bounds = f"{outer[1]:.2f}x [{outer[0]:.2f}, {outer[2]:.2f}]"
            yield f"      by the supervisor's own clock {bounds}; {off}{dropped}"


def _power(doc: dict[str, Any]) -> Iterator[str]:
    found: dict[str, Any] = next((c["detail"] for c in doc["checks"] if c["gate"] == "power"), {})
    if found.get("mutants"):
        yield f"  judge        refuses {found['rejected']} of {found['mutants']} mutants of the reference"


def _least(doc: dict[str, Any]) -> Iterator[str]:
    """Say what the reference's work takes here at least, where it was measured."""
    found: dict[str, Any] = next((c["detail"] for c in doc["checks"] if c["gate"] == "floor"), {})
    if "floor_all_us" in found:
        products = f", its products {found['floor_products_us']:.3g} us" if "floor_products_us" in found else ""
        yield f"  at least     moving all data {found['floor_all_us']:.3g} us{products}; call {found['busy_us']:.3g} us"


def _state(doc: dict[str, Any]) -> str:
    state = doc.get("gpu_state") or {}
    if not state.get("samples"):
        return ""
    parts = [
        f"{state[key][0]:.0f} to {state[key][1]:.0f} {unit}"
        for key, unit in (("sm_mhz", "MHz"), ("celsius", "°C"), ("watts", "W"))
        if key in state
    ]
    return "".join(f", {part}" for part in parts)


def _pass(good: bool) -> str:
    return "would pass" if good else "would fail"
