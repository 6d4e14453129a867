"""Ids in words: what a page says first about a run, an outcome, a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.analytics.verify.runner.gates import NAMES as CHECKS
from kbstats.site import fmt
from kbstats.site.redact import parted, spaced
from kbstats.site.witness import sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CHECKS", "GATES", "OUTCOMES", "STATES", "VERDICTS"]

OUTCOMES: dict[str, tuple[str, str]] = {
    "correct": ("correct", "The last submission passed."),
    "incorrect": ("wrong result", "The last submission ran and returned something else than the reference."),
    "compile_fail": ("did not compile", "The last submission could not be built or imported."),
    "runtime_fail": ("crashed", "The last submission was built and raised an error when it ran."),
    "no_submission": ("never submitted", "The run ended without a submission."),
    "timeout": ("timed out", "A time limit ended it."),
    "llm_error": ("model call failed", "The call to the model failed."),
    "infra_error": ("infrastructure", "The harness or its machine failed, not the model."),
    "in_progress": ("unfinished", "The log ends while the run was going on."),
    "skipped": ("skipped", "The harness did not attempt it."),
    "unknown": ("unknown", "The source does not say, and holds no evidence."),
}
"""Outcomes (`run_outcomes.outcome`): a few words, and a sentence."""

GATES = {
    "speed": "the speedup does not count",
    "correctness": "does not count as correct",
    "identity": "a twin of another run",
}
"""What a blocking finding takes away (`audit_findings.blocks`)."""

VERDICTS: dict[str, tuple[str, str]] = {
    "CONFIRMED": ("verified", "Right on fresh secret inputs, and as fast as claimed."),
    "CONFIRMED_FASTER": ("verified", "Right on fresh secret inputs, and faster than claimed."),
    "CONFIRMED_REDUCED": ("verified", "Right only at a lower precision than asked for."),
    "SLOWER_THAN_CLAIMED": ("refuted", "Right, and slower than claimed."),
    "NO_SPEEDUP": ("refuted", "Right, and no faster than the reference."),
    "INCONCLUSIVE": ("open", "The interval still straddled the claim when the budget was spent."),
    "INCORRECT": ("refuted", "Returned something else than the reference."),
    "FLAKY": ("refuted", "Passed some repetitions and failed others."),
    "HACK": ("refuted", "Caught by a dynamic test with a witness."),
    "SUSPECT": ("open", "Looks wrong to a static test; a person should look."),
    "IMPLAUSIBLE": ("refuted", "Faster than the memory can move its output."),
    "DEGENERATE_PROBLEM": ("open", "A kernel that does nothing passes: the problem tells nothing."),
    "BUILD_FAILED": ("open", "Could not be built here."),
    "CRASHED": ("open", "The process died."),
    "TIMEOUT": ("open", "A time limit ended it."),
    "UNVERIFIABLE": ("open", "Could not be judged."),
}
"""Verdict words (before the colon): tone, and a sentence. Whether one ranks is `run_trust`'s to say."""

STATES: dict[str, str] = {
    "faster": "right and faster than the reference",
    "right": "right",
    "built": "compiles",
    "wrong": "wrong result or crash",
    "broken": "does not compile",
    "late": "a time limit was hit",
    "infra": "infrastructure failed",
    "none": "nothing judged",
}
"""States of a turn, for the timeline."""


def say(code: Any) -> str:
    """An id as words: `compile_fail` becomes `did not compile`, others lose their underscores."""
    if code is None:
        return fmt.UNKNOWN
    text = str(code)
    return OUTCOMES[text][0] if text in OUTCOMES else spaced(text)


def level(row: dict[str, Any]) -> str:
    """A level with its suite; many suites have none."""
    return row["suite"] or fmt.UNKNOWN if row["level"] is None else f"{row['suite']} level {row['level']}"


def left_out(runs: Sequence[dict[str, Any]]) -> str:
    """Which of these runs no board counts, as a sentence; empty where it counts all."""
    rest = [r for r in runs if not r["attempted"]]
    linked = sum(r["standing"] == "linked" for r in rest)
    kinds = ((linked, "a second record of a run"), (len(rest) - linked, "skipped by the harness"))
    said = ", ".join(f"{n:,} {text}" for n, text in kinds if n)
    return f"No board counts {len(rest):,} of these: {said}." if rest else ""


def span(row: dict[str, Any] | None, key: str, lo: str, hi: str) -> str:
    """A rate with its interval, in words."""
    if row is None or row.get(key) is None:
        return "none"
    text = fmt.pct(row[key])
    return f"{text} ({fmt.pct(row[lo])} to {fmt.pct(row[hi])})" if row.get(lo) is not None else text


def contents(turn: Any) -> str:
    """What a folded turn holds."""
    kinds = [m["kind"] for m in turn.messages]
    parts = list(dict.fromkeys(kinds))
    if turn.calls:
        parts.append("call and result" if len(turn.calls) == 1 else f"{len(turn.calls)} calls and results")
    if turn.row["feedback"]:
        parts.append("feedback")
    return ", ".join(parts) or "details"


def outcome_tone(run: dict[str, Any]) -> str:
    """The tone a run's outcome is set in: claimed grey unless something speaks for or against it."""
    # Slower than claimed is refuted and right: the speedup is red, the outcome is not.
    wrong = any(verdict_tone(v) == "refuted" and v["correctness"] != "passed" for v in run["verifications"])
    if wrong or (run["claims_correct"] and "correctness" in run["blocks"]):
        return "refuted"
    if run["outcome"] == "correct":
        right = any(v["decides"] and v["correctness"] == "passed" and v["ranks"] for v in run["verifications"])
        return "verified" if right else "claimed"
    return "plain"


def standing_tone(run: dict[str, Any]) -> str:
    """The tone of a run where only one word of it is shown."""
    return {"refuted": "refuted", "withdrawn": "refuted", "verified": "verified", "counted": "claimed"}.get(
        run["standing"], "plain"
    )


def verdict_tone(v: dict[str, Any]) -> str:
    """Verified | refuted | open: a result's own word, as far as the SQL models let it count.

    A result that decides nothing (a CPU's, one without its sandbox, one that another displaced) is open,
    whatever it says. So is one that speaks of runs and does nothing to any of them: another reference.
    Slower than claimed refutes on the claim's own GPU model alone; elsewhere it is a measurement.
    """
    tone = VERDICTS.get(parted(v["verdict"], ":")[0], ("open", ""))[0]
    if not v["decides"]:
        return "open"
    if tone == "open" or not v["n_runs"]:
        return tone
    if tone == "refuted":
        return "refuted" if v["refutes"] else "verified" if v["ranks"] else "open"
    return "verified" if v["ranks"] else "open"


def verdict_words(verdict: str) -> str:
    """What a verdict means, in a sentence."""
    word, kind = parted(verdict, ":")
    text = VERDICTS.get(word, ("open", ""))[1]
    return f"{text} ({spaced(kind)})" if kind else text


def interval(v: dict[str, Any]) -> str:
    """A measured speedup with its interval."""
    if v["speedup"] is None:
        return "not measured"
    text = fmt.times(v["speedup"])
    if v["speedup_lo"] is not None and v["speedup_hi"] is not None:
        text += f" ({fmt.times(v['speedup_lo'])} to {fmt.times(v['speedup_hi'])})"
    return text + (f" against {v['baseline']}" if v["baseline"] else "")


def witness(v: dict[str, Any]) -> str:
    """The evidence of a refusal, as a sentence without its full stop."""
    return sentence(v.get("witness"), v["verdict"])


def verdict_line(run: dict[str, Any]) -> list[tuple[str, str]]:
    """What a run claims and what became of it, as (tone, sentence) in the order of importance."""
    out: list[tuple[str, str]] = []
    claims_correct = run["claims_correct"]
    if claims_correct and run["speedup"] is not None:
        out.append(("claimed", f"Claims {fmt.times(run['speedup'])}."))
    elif claims_correct:
        out.append(("claimed", "Claims to be correct, without a speedup."))
    else:
        name, sentence = OUTCOMES.get(run["outcome"] or "unknown", OUTCOMES["unknown"])
        out.append(("plain", f"{name[0].upper()}{name[1:]}. {sentence}"))
    if claims_correct and run["outcome"] not in ("correct", None):
        out.append(
            (
                "refuted",
                f"The evidence in its own log says otherwise: {OUTCOMES.get(run['outcome'], OUTCOMES['unknown'])[0]}.",
            )
        )
    for v in run["verifications"]:
        tone = verdict_tone(v)
        where = f" on {v['gpu_model']}" if v["gpu_model"] else (" on a CPU" if v["device"] == "cpu" else "")
        ending = f" Decides nothing here: {v['undecided']}." if v["undecided"] else ""
        if v["correctness"] == "passed":
            told = "" if tone == "verified" else f" {verdict_words(v['verdict'])}"
            out.append((tone, f"Re-run{where}: measured {interval(v)}.{told}{ending}"))
        else:
            seen = witness(v)
            word = "refused" if v["correctness"] in ("failed", "flaky") else "not judged"
            said = verdict_words(v["verdict"]).rstrip(".")
            out.append((tone, f"Re-run{where}: {word}: {seen or said}.{ending}"))
    if claims_correct and not run["verifications"]:
        out.append(("note", "Nobody has re-run it."))
    for gate in run["blocks"] if claims_correct else ():
        codes = ", ".join(say(c) for c in run[f"blocks_{gate}"])
        out.append(("refuted", f"Withdrawn by the audit: {GATES[gate]} ({codes})."))
    return out
