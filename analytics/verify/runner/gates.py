"""The challenges one candidate is put through, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

SWEEP = ("scaled_up", "scaled_down", "heavy_tail", "flat", "suffix_amplified", "last_spike", "clustered", "integers")
"""Cases of the input sweep. Their scales are random: fixed ones have been recognised by kernels."""

SPREAD = 2.0
"""Repeats on the same bytes may differ by this many times the reference's own error."""

MIN_CALLS = 60
"""Fewest verified calls of a result that passes: none wrong of 60 bounds the failure rate at 4.9 % (95 %)."""

POISONS = (0x01, 0x5A, 0xFF)
"""malloc fills new blocks with the complement: -1.7e38, a tiny negative number, and zeros."""

NAMES = {
    "G0": "builds and imports",
    "G1": "result is a plain tensor of the reference's form",
    "G2": "held-out inputs, every drawn shape",
    "G3": "sweep of other input values",
    "G4": "memory: caches, input mutation, uninitialised output",
    "G5": "other construction seed",
    "G6": "same inputs, same answer",
    "G7": "other shapes and layouts (a badge, never a refusal)",
    "G8": "precision class",
    "wire": "answers come over the wire as agreed",
    "timed": "outputs of timed calls",
    "clock": "inner and outer clock agree",
    "floor": "the time is one that the memory allows",
    "power": "the problem tells a kernel from none",
    "sandbox": "required sandbox layers hold",
    "reference": "the reference can be judged",
}
"""What each gate asks; the numbers are those of the protocol."""

Step = dict[str, Any]


def script(seeds: list[int], base_seed: int, rng: random.Random) -> list[Step]:
    """Return the calls of one candidate process. The same list challenges a fresh process again.

    Args:
        seeds: seeds of the held-out draws.
        base_seed: seed of the recorded draw that sweep and timing use.
        rng: the supervisor's secret generator.
    """

    def step(gate: str, label: str, **more: Any) -> Step:
        return {"op": "call", "gate": gate, "label": label, "poison": rng.choice(POISONS[:2]), **more}

    steps = [step("G2", "nominal", kind="seed", seed=s) for s in seeds]
    for case in SWEEP:
        steps.append(step("G3", case, kind="bend", case=case, seed=base_seed, bend_seed=rng.getrandbits(62)))  # noqa: PERF401  reads better as a loop
    # Kept across the next call: an answer that changes under its owner's hands is a badge.
    steps.append(step("G4", "nominal", kind="seed", seed=base_seed))
    for number, case in enumerate(("blocks", "window", "tail", "window", "blocks")):
        steps.append(
            step("G4", f"sparse_{case}", kind="sparse", case=case, bend_seed=rng.getrandbits(62), kept=number == 0)
        )
    steps += [step("G6", "repeat", kind="same", repeat=True) | {"poison": p} for p in POISONS]
    steps.append({"op": "construct", "seed": rng.getrandbits(31)})
    # Inputs of their own: the old weights' answer to an old input would look like a replayed one.
    steps += [step("G5", "new_weights", kind="seed", seed=rng.getrandbits(62)) for _ in range(2)]
    steps.append({"op": "perturb", "seed": rng.getrandbits(31)})
    steps.append(step("G5", "changed_weights", kind="seed", seed=rng.getrandbits(62), badge=True))
    return steps


def more(count: int, rng: random.Random) -> list[Step]:
    """Return further held-out draws, where timing left fewer than MIN_CALLS verified calls."""
    step = {"op": "call", "gate": "G2", "label": "more", "kind": "seed"}
    return [step | {"seed": rng.getrandbits(62), "poison": rng.choice(POISONS[:2])} for _ in range(count)]


def jittered(cases: list[dict[str, Any]], seed: int, rng: random.Random) -> list[Step]:
    """Return one call for each case of another shape or layout."""
    return [
        {"op": "call", "gate": "G7", "label": c["case"], "kind": "jitter", "seed": seed, "poison": rng.choice(POISONS)}
        | c
        for c in cases
    ]
