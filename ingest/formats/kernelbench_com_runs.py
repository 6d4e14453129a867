"""Runs of kernelbench.com: a result.json, a cell of the catalog, an entry of a board."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import diagnostics, identity
from kbstats.ingest.formats.exec_result import kept, located, mapping
from kbstats.ingest.formats.kernelbench_com_logs import read_check
from kbstats.ingest.lenient import build, known_keys
from kbstats.ingest.metrics import RATIO, number, positive
from kbstats.ingest.rows import Metric, Run, Timeout
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from pathlib import Path

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source

COM = "kernelbench_com"
SUITE = "kernelbench.com"
BENCHES = ("hard", "cuda", "mega", "multi")
PROBLEMS = {
    "hard": frozenset(
        {
            "01_fp8_gemm",
            "02_kda_cutlass",
            "03_paged_attention",
            "05_topk_bitonic",
            "06_sonic_moe_swiglu",
            "07_w4a16_gemm",
            "09_fmha_preattn_mrope",
            "10_patch_embed_conv3d_gemm",
        }
    ),
    "cuda": frozenset({"01_glm52_fused_moe", "02_deepseek_nsa", "03_megaqwen_decode", "04_grid_mingru_sps"}),
    "mega": frozenset({"01_rl_grid_ppo", "02_kimi_linear_decode"}),
}
"""Which deck a problem is of: results do not say, and folders hold copies of other decks' files."""
_FRACTION = frozenset({"hard", "cuda"})
"""Decks whose score is the fraction of the roofline reached; that of `mega` is a speedup."""

_RUN = re.compile(r"\d{8}_\d{6}_\S+")
_NUMBER = re.compile(r"(?P<id>\d{1,4})_")
KILLED = 124
"""Exit status of `timeout` when it had to stop a program."""
NO_SOLUTION = "no_solution"


class Record(msgspec.Struct):
    """All that the four kinds of entries hold of a run."""

    run_id: str | None = None
    run_group: str | None = None
    problem: str | None = None
    harness: str | None = None
    model: str | None = None
    reasoning_effort: str | None = None
    bench: str | None = None
    gpu: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    harness_finished_at: str | None = None
    has_solution: bool | None = None
    correct: bool | None = None
    failure_reason: str | None = None
    outcome: str | None = None
    peak_fraction: float | None = None
    score: float | None = None
    speedup: float | None = None
    elapsed_seconds: float | None = None
    check_elapsed_seconds: float | None = None
    check_timeout_seconds: float | None = None
    check_exit_code: int | None = None
    benchmark_elapsed_seconds: float | None = None
    benchmark_timeout_seconds: float | None = None
    benchmark_exit_code: int | None = None
    harness_exit_code: int | None = None
    session_complete: bool | None = None
    usage: Any = None
    regrade: Any = None
    graded_by: str | None = None
    graded_at: str | None = None


def run_of(entry: dict[str, Any], path: Path | None) -> str | None:
    """The source's own id of a run: from the entry, else from the file's or its folder's name."""
    run = entry.get("run_id")
    if isinstance(run, str) and run.strip():
        return run.strip()
    if path is None:
        return None
    named = path.name.removesuffix("result.json").rstrip(".") or path.parent.name
    return named if _RUN.fullmatch(named) else None


def run_id_of(run: str) -> str:
    """The id of a run by the source's own: nothing else is the same in results, boards and audits."""
    columns: dict[str, Any] = dict.fromkeys(identity.IDENTITY)
    return identity.run_id(**{**columns, "suite": SUITE, "sweep": run})


def bench_of(problem: str | None, bench: str | None, path: Path) -> str | None:
    """The deck: as the entry says, else by the problem, else by the folders."""
    if bench:
        return bench
    named = next((b for b, problems in PROBLEMS.items() if problem in problems), None)
    return named or next((p for p in reversed(path.parts) if p in BENCHES), None)


def one(source: Source, batch: Batch, entry: dict[str, Any], pointer: str, run: str | None) -> None:
    """One run into the batch."""
    r: Record = build(Record, entry, located(batch, pointer))
    bench = bench_of(r.problem, r.bench, source.path)
    m = _NUMBER.match(r.problem or "")
    columns: dict[str, Any] = {
        "suite": SUITE,
        "sweep": r.run_group or None,
        "variant": bench,
        "model_raw": r.model,
        "level": None,
        "problem_id": int(m["id"]) if m else None,
        "problem_name": r.problem,
        "sample_id": 0,
        "harness": r.harness,
    }
    if run is None:  # a result moved out of its folder: its folder stands for the id
        batch.issue("no_run_id", "neither the file nor its folder says which run this is", location=pointer or "/")
        run_id = identity.run_id(**{**columns, "sweep": source.path.parent.name})
    else:
        run_id = run_id_of(run)
    if batch.has_run(run_id):
        batch.issue("duplicate_run", "the same run again; the first is kept", location=pointer or "/", run_id=run_id)
        return
    score = r.peak_fraction if r.peak_fraction is not None else r.score
    measured = positive(score) if bench == "mega" else None
    speedup = batch.speedup(r.speedup, run_id, correct=r.correct, measured=measured)
    if bench in _FRACTION and score is not None and score >= 0:
        batch.add(
            Metric(run_id=run_id, subject=RATIO, name="roofline.fraction", value=score, unit="ratio", source="harness")
        )
    _timeouts(batch, run_id, r)
    logs, metadata = _logs(source, batch, run_id, r)
    usage = mapping(r.usage)
    tokens_in, tokens_out = (_count(usage.get(k)) for k in ("input_tokens", "output_tokens"))
    unknown = {k: v for k, v in entry.items() if k not in known_keys(Record)}
    regrade = mapping(r.regrade)
    gpu = regrade.get("gpu_name")
    batch.add(
        Run(
            run_id=run_id,
            source_id=source.source_id,
            format=COM,
            **columns,
            model=identity.model_of(r.model),
            hardware=gpu if isinstance(gpu, str) else r.gpu,
            started_at=utc(r.started_at, batch, f"{pointer}/started_at"),
            finished_at=utc(r.finished_at or r.harness_finished_at, batch, f"{pointer}/finished_at"),
            wall_s=r.elapsed_seconds,
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            total_tokens=None if tokens_in is None or tokens_out is None else tokens_in + tokens_out,
            cost_usd=number(usage.get("total_cost_usd")),
            source_outcome=_outcome(r),
            correct=r.correct,
            speedup=speedup,
            submitted_kernel_sha256=_solution(source, batch),
            extra=kept(
                {
                    **unknown,
                    "metadata": metadata,
                    "run_id": run,
                    "reasoning_effort": r.reasoning_effort,
                    "has_solution": r.has_solution,
                    "outcome": r.outcome,
                    "score": score,
                    "usage": usage,
                    "session_complete": r.session_complete,
                    "harness_exit_code": r.harness_exit_code,
                    "check_exit_code": r.check_exit_code,
                    "benchmark_exit_code": r.benchmark_exit_code,
                    # judged again later: the label is the first judgement's, `correct` the last one's
                    "re_eval": kept({"regrade": regrade, "graded_by": r.graded_by, "graded_at": r.graded_at}),
                    **logs,
                }
            ),
        )
    )


def _count(value: Any) -> int | None:
    """A number of tokens; 0 stands for unknown."""
    found = number(value)
    return int(found) if found is not None and 0 < found < 2**53 else None


def _outcome(r: Record) -> str | None:
    """The harness's reason. The first schema had none, but said whether there was a solution at all."""
    if r.failure_reason:
        return r.failure_reason
    return NO_SOLUTION if r.has_solution is False and not r.correct else None


def _timeouts(batch: Batch, run_id: str, r: Record) -> None:
    """The limits that were hit: by the reason given, or by the exit status of what was stopped."""
    limits = (
        ("check", "check_timeout", r.check_exit_code, r.check_timeout_seconds, r.check_elapsed_seconds),
        (
            "benchmark",
            "benchmark_timeout",
            r.benchmark_exit_code,
            r.benchmark_timeout_seconds,
            r.benchmark_elapsed_seconds,
        ),
        ("session", "timeout", r.harness_exit_code, None, r.elapsed_seconds),
    )
    for scope, reason, status, budget, elapsed in limits:
        if r.failure_reason == reason:
            said = f"failure_reason: {reason}"
        elif status == KILLED:
            said = f"exit code {KILLED}"
        else:
            continue
        # regraded since: the times are those of a later attempt that did end
        over = status == KILLED or scope == "session"
        batch.add(
            Timeout(run_id=run_id, scope=scope, budget_s=budget, elapsed_s=elapsed if over else None, message=said)
        )


def _logs(source: Source, batch: Batch, run_id: str, r: Record) -> tuple[dict[str, Any], dict[str, Any]]:
    """The logs whole, and what the check's says of a failure under the keys of the KernelBench family."""
    texts: dict[str, Any] = {}
    for name in ("check.log", "benchmark.log"):
        path = source.companion(name)
        if path is not None and (text := source.companion_text(path, batch)):
            texts[name.replace(".", "_")] = text
    found = read_check(texts.get("check_log", "")) if r.correct is not True else {}
    if text := found.get("compilation_error"):
        for row in diagnostics.rows(run_id, text, building=True):
            batch.add(row)
    return texts, found


def _solution(source: Source, batch: Batch) -> str | None:
    path = source.companion("solution.py")
    return None if path is None else batch.kernel(source.companion_text(path, batch))
