"""One run: finding it by what a person remembers, and everything that stands about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from kbstats.analytics.output import place, plain, rows_of
from kbstats.ingest.errors import KbstatsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import duckdb

_BY_ID = """
select run_id from runs where starts_with(run_id, $id) order by run_id limit 10
"""

# Words are parts of any name, whatever their case; numbers are level and problem.
_BY_WORDS = """
select
    r.run_id, coalesce(r.model, r.model_raw) as model, r.sweep, r.variant, r.level, r.problem_id, r.problem_name,
    if(s.left_out = 'linked', s.richer_run_id, null) as richer_run_id
from runs as r
inner join run_status as s on r.run_id = s.run_id
where
    ($level::bigint is null or r.level = $level::bigint)
    and ($problem::bigint is null or r.problem_id = $problem::bigint)
    and len(list_filter(
        $words::varchar[],
        lambda w: not contains(
            lower(concat_ws(
                ' ', r.model, r.model_raw, r.sweep, coalesce(r.variant, 'original'), r.suite, r.mode, r.problem_name,
                r.format
            )),
            lower(w)
        )
    )) = 0
order by model, r.sweep, r.variant, r.level, r.problem_id, r.sample_id, r.run_id
"""

_LEVEL = re.compile(r"(?i)l(?:evel)?[ _]?(\d+)")
_PROBLEM = re.compile(r"(?i)p(?:roblem)?[ _]?(\d+)")
_BOTH = re.compile(r"(?i)l(?:evel)?_?(\d+)[_ ]*p(?:roblem)?_?(\d+)(?:_trajectory\.json)?")


def parse(words: Sequence[str]) -> tuple[list[str], int | None, int | None]:
    """What a person typed, as (name parts, level, problem).

    All of `gpt-5.5 L3 P11`, `gpt-5.5 3 11` and `sweep/gpt-5.5/level_3_problem_11` are understood.
    """
    names: list[str] = []
    level: int | None = None
    problem: int | None = None
    for word in (part for w in words for part in re.split(r"[/\s]+", w) if part):
        if m := _BOTH.fullmatch(word):
            level, problem = int(m[1]), int(m[2])
        elif m := _LEVEL.fullmatch(word):
            level = int(m[1])
        elif m := _PROBLEM.fullmatch(word):
            problem = int(m[1])
        elif word.isdigit() and level is None:
            level = int(word)
        elif word.isdigit() and problem is None:
            problem = int(word)
        else:
            names.append(word)
    return names, level, problem


def find(con: duckdb.DuckDBPyConnection, words: Sequence[str]) -> str:
    """The run_id that the words mean.

    Args:
        con: A connection.
        words: A run_id or the beginning of one, or parts of names with level and problem.

    Raises:
        UsageError: nothing or several runs fit.
    """
    text = " ".join(words)
    if len(words) == 1 and re.fullmatch(r"[0-9a-f]{4,}", words[0]):
        ids = [r[0] for r in con.execute(_BY_ID, {"id": words[0]}).fetchall()]
        if len(ids) == 1 or words[0] in ids:
            return words[0] if words[0] in ids else str(ids[0])
        if ids:
            raise UsageError(f"several runs begin with {text!r}", hint=", ".join(ids))
    names, level, problem = parse(words)
    found = rows_of(con.execute(_BY_WORDS, {"words": names, "level": level, "problem": problem}))
    if not found:
        raise KbstatsError(f"no run fits {text!r}", hint="`kbstats leaderboard --by run` lists them")
    if len(found) > 1:
        found = _nearest(found, [*words, *names], names)
    if len(found) > 1:
        keys = ("model", "variant", "sweep")
        shown = [" ".join([r["run_id"][:10], place(r), *(str(r[k]) for k in keys if r[k])]) for r in found[:6]]
        more = f" and {len(found) - 6} more" if len(found) > 6 else ""
        raise UsageError(f"{len(found)} runs fit {text!r}", hint=plain("; ".join(shown) + more))
    return str(found[0]["run_id"])


def _nearest(found: list[dict[str, Any]], words: Sequence[str], names: Sequence[str]) -> list[dict[str, Any]]:
    """Of several runs that fit, those that the words mean more likely; all of them where nothing tells."""
    there = {r["run_id"] for r in found}
    asked = {w.lower() for w in words}
    tests: tuple[Callable[[dict[str, Any]], bool], ...] = (
        # Of two records of one run the one that ranks.
        lambda r: r["richer_run_id"] not in there,
        # A word that is a model's whole name, then one that is part of it, is meant for the model, though a
        # sweep's or a problem's name may hold it as well.
        lambda r: (r["model"] or "").lower() in asked,
        lambda r: bool(names) and all(w.lower() in (r["model"] or "").lower() for w in names),
    )
    for test in tests:
        found = [r for r in found if test(r)] or found
    return found


_RUN = """
select
    r.*, s.path as source_path, s.root as source_root, o.outcome, o.failure_class, o.owner, o.evidence,
    o.decided_by, o.decided_turn, o.label, o.label_conflict, c.title as failure_title, c.advice,
    coalesce(abs(r.speedup - 1) <= t.noise_band + 1e-9, false) as near_tie
from runs as r
inner join run_outcomes as o on r.run_id = o.run_id
inner join run_status as t on r.run_id = t.run_id
left join sources as s on r.source_id = s.source_id
left join failure_classes as c on o.failure_class = c.class
where r.run_id = $id
"""
_CALLS = """
select
    c.turn, c.seq, c.tool, c.ok, c.outcome, c.kernel_sha256, c.duration_s,
    f.failure_class, f.evidence,
    c.kernel_sha256 is not null and c.kernel_sha256 is distinct from
    lag(c.kernel_sha256 ignore nulls) over (order by c.turn, c.seq) as new_kernel,
    e.lines_added, e.lines_removed, e.previous_sha256,
    f.evidence_start, f.evidence_end,
    -- The same class on the same kernel by the same tool as before: nothing was learned.
    f.failure_class is not null and c.kernel_sha256 is not null and row_number() over (
        partition by c.tool, c.kernel_sha256, f.failure_class order by c.turn, c.seq
    ) > 1 as repeated
from tool_calls as c
left join tool_failures as f on c.run_id = f.run_id and c.turn = f.turn and c.seq = f.seq
left join (
    select * from kernel_edits where run_id = $id
) as e on c.turn = e.turn and c.seq = e.seq
where c.run_id = $id
order by c.turn, c.seq
"""
_TURNS = """
select t.turn, t.llm_s, t.tools_s, t.wall_s, t.total_tokens, t.is_final, t.feedback, s.state
from turns as t
left join run_states as s on t.run_id = s.run_id and t.turn = s.turn
where t.run_id = $id
order by t.turn
"""
_DIAGNOSTICS = """
select turn, seq, toolchain, severity, file, line, col, message
from compile_errors
where run_id = $id and severity in ('error', 'fatal error')
order by turn, seq, ordinal
"""
_METRICS = """
select subject, name, value, unit, source
from metrics
where run_id = $id and turn is null
order by name, subject, source, seq, value
"""
_TRUST = """
select trust, verified_on, counts_correct, speedup, reason from run_trust where run_id = $id
order by case trust when 'claimed' then 0 when 'audited' then 1 else 2 end, verified_on
"""
_VERIFIED = """
select gpu_model, verdict, kind, gate, speedup, speedup_lo, speedup_hi, claimed_speedup, verified_at, ranks, refutes
from run_verifications where run_id = $id order by gpu_model
"""
_FINDINGS = """
select code, severity, blocks, message, value, threshold from audit_findings where run_id = $id
order by
    case severity when 'error' then 0 when 'warning' then 1 else 2 end,
    code, value desc nulls last, message, threshold
"""
_ANNOTATIONS = """
select a.verdict, a.text, a.author
from annotations as a
where a.run_id = $id or a.kernel_sha256 in (select submitted_kernel_sha256 from runs where run_id = $id)
order by a.verdict, a.text, a.author
"""
_KERNEL = "select source_code from kernels where kernel_sha256 = ?"
_LINKS = """
select if(run_id = $id, linked_run_id, run_id) as other, run_id = $id as richer, matched_on
from run_links where run_id = $id or linked_run_id = $id order by other, richer, matched_on
"""


def load(con: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, Any]:
    """Everything about a run.

    Returns:
        `run` (its row, with outcome and evidence), `turns` (each with its `calls`, and these with
        their `diagnostics`), `metrics`, `trust`, `verifications`, `findings`, `annotations` and `links`.
    """
    def ask(sql: str) -> list[dict[str, Any]]:
        return rows_of(con.execute(sql, {"id": run_id}))

    turns = ask(_TURNS)
    calls, diagnostics = ask(_CALLS), ask(_DIAGNOSTICS)
    for call in calls:
        call["diagnostics"] = [d for d in diagnostics if (d["turn"], d["seq"]) == (call["turn"], call["seq"])]
    known = {t["turn"] for t in turns}
    turns += [{"turn": n} for n in sorted({c["turn"] for c in calls} - known)]
    for t in turns:
        t["calls"] = [c for c in calls if c["turn"] == t["turn"]]
    return {
        "run": ask(_RUN)[0],
        "turns": sorted(turns, key=lambda t: t["turn"]),
        "metrics": ask(_METRICS),
        "trust": ask(_TRUST),
        "verifications": ask(_VERIFIED),
        "findings": ask(_FINDINGS),
        "annotations": ask(_ANNOTATIONS),
        "links": ask(_LINKS),
    }


def diffs(con: duckdb.DuckDBPyConnection, found: dict[str, Any]) -> dict[tuple[int, int], list[str]]:
    """What changed from each kernel of a run to the next, by (turn, seq) of the call that sent the later one.

    Args:
        con: A connection.
        found: What `load` returned.

    Returns:
        Lines of a unified diff without its head; of the first kernel none.
    """
    import difflib

    def source(sha: str) -> list[str]:
        row = con.execute(_KERNEL, [sha]).fetchone()
        return str(row[0]).splitlines() if row else []

    out: dict[tuple[int, int], list[str]] = {}
    for t in found["turns"]:
        for c in t["calls"]:
            if c["new_kernel"] and c["previous_sha256"]:
                lines = difflib.unified_diff(source(c["previous_sha256"]), source(c["kernel_sha256"]), lineterm="", n=2)
                out[c["turn"], c["seq"]] = list(lines)[2:]
    return out
