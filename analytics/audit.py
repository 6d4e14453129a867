"""What cannot be true: the findings of sql/audits, filtered and summed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.analytics.output import rows_of
from kbstats.ingest.errors import UsageError
from kbstats.sql import catalog

if TYPE_CHECKING:
    from collections.abc import Sequence

    import duckdb

_SEVERITY = {"error": 0, "warning": 1, "info": 2}

_FINDINGS = """
select
    f.code, f.severity, f.blocks, f.run_id, f.message, f.value, f.threshold,
    coalesce(r.model, r.model_raw) as model, r.level, r.problem_id, r.problem_name, r.sweep
from audit_findings as f
left join runs as r on f.run_id = r.run_id
where
    ($codes::varchar[] is null or list_contains($codes::varchar[], f.code))
    and ($severities::varchar[] is null or list_contains($severities::varchar[], f.severity))
    and ($levels::bigint[] is null or list_contains($levels::bigint[], r.level))
    and ($models::varchar[] is null or list_has_any($models::varchar[], [r.model, r.model_raw]))
    and ($sweeps::varchar[] is null or list_contains($sweeps::varchar[], r.sweep))
    and ($run_id::varchar is null or f.run_id = $run_id::varchar)
order by
    case f.severity when 'error' then 0 when 'warning' then 1 else 2 end,
    f.code, f.run_id, f.value desc nulls last, f.message, f.threshold
"""


def codes() -> list[str]:
    """Every code an audit can give."""
    return [a.name for a in catalog.sql_files("audits")]


def check_codes(wanted: Sequence[str]) -> None:
    """Refuse a code that no audit gives: a gate that can never close is worse than an error.

    Raises:
        UsageError: naming the codes that are nearest, and what lists them all.
    """
    there = codes()
    unknown = sorted(set(wanted) - set(there))
    if unknown:
        near = {code: None for name in unknown for code in nearest(name, there)}
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        hint = f"{meant}`kbstats audit --codes` lists all {len(there)}"
        raise UsageError(f"no audit {', '.join(unknown)}", hint=hint)


def nearest(name: str, there: Sequence[str], most: int = 3) -> list[str]:
    """Codes that somebody may have meant: alike in spelling, then those that have a word of it."""
    import difflib

    text = name.lower().replace("-", "_")
    words = {w for w in text.split("_") if len(w) > 3}
    alike = [*difflib.get_close_matches(text, there, n=most), *(c for c in there if words & set(c.split("_")))]
    return list(dict.fromkeys(alike))[:most]


def about() -> list[dict[str, Any]]:
    """Every audit: its code, severity, what it blocks, what it looks for and its threshold."""
    wanted = ("severity", "blocks", "purpose", "threshold")
    return [{"code": a.name, **{key: a.header[key] for key in wanted}} for a in catalog.sql_files("audits")]


def findings(
    con: duckdb.DuckDBPyConnection,
    *,
    wanted: Sequence[str] = (),
    severities: Sequence[str] = (),
    levels: Sequence[int] = (),
    models: Sequence[str] = (),
    sweeps: Sequence[str] = (),
    run_id: str | None = None,
) -> list[dict[str, Any]]:
    """Findings, gravest first: code, severity, blocks, run_id, message, value, threshold and the run's names.

    Raises:
        UsageError: an unknown code.
    """
    check_codes(wanted)
    parameters = {
        "codes": list(wanted) or None,
        "severities": list(severities) or None,
        "levels": list(levels) or None,
        "models": list(models) or None,
        "sweeps": list(sweeps) or None,
        "run_id": run_id,
    }
    return rows_of(con.execute(_FINDINGS, parameters))


_RUNS = """
select count(*) from runs
where
    ($levels::bigint[] is null or list_contains($levels::bigint[], level))
    and ($models::varchar[] is null or list_has_any($models::varchar[], [model, model_raw]))
    and ($sweeps::varchar[] is null or list_contains($sweeps::varchar[], sweep))
"""


def standing(
    con: duckdb.DuckDBPyConnection,
    wanted: Sequence[str],
    *,
    levels: Sequence[int] = (),
    models: Sequence[str] = (),
    sweeps: Sequence[str] = (),
) -> list[str]:
    """Those of the codes of which a finding stands on some run, whatever of the findings is shown.

    Raises:
        UsageError: an unknown code, or no run at all: such a gate would let everything pass.
    """
    if not wanted:
        return []
    parameters = {"levels": list(levels) or None, "models": list(models) or None, "sweeps": list(sweeps) or None}
    if con.execute(_RUNS, parameters).fetchall() == [(0,)]:
        raise UsageError("no run to gate: the filters leave none", hint="`kbstats leaderboard --by run` lists them")
    found = findings(con, wanted=wanted, levels=levels, models=models, sweeps=sweeps)
    return sorted({r["code"] for r in found})


def summed(rows: Sequence[dict[str, Any]], by: str) -> list[dict[str, Any]]:
    """Findings counted by `code`, `run` or `model`; the gravest and most frequent first."""
    column = {"code": "code", "run": "run_id", "model": "model"}[by]
    groups: dict[Any, list[dict[str, Any]]] = {}
    for r in rows:
        groups.setdefault(r[column], []).append(r)
    out = []
    for key, found in groups.items():
        gravest = min((f["severity"] for f in found), key=_SEVERITY.__getitem__)
        blocks = sorted({f["blocks"] for f in found} - {"nothing"})
        out.append(
            {
                column: key,
                "severity": gravest,
                "blocks": ", ".join(blocks) or "nothing",
                "findings": len(found),
                "runs": len({f["run_id"] for f in found}),
                "codes": sorted({f["code"] for f in found}),
                "example": found[0]["message"],
            }
        )
    out.sort(key=lambda r: (_SEVERITY[r["severity"]], -r["findings"], str(r[column])))
    return out


def page() -> str:
    """The text of `docs/audits.md`; a test compares the two."""
    out = [
        "# Audits",
        "",
        "Each file of `sql/audits` looks for one thing that cannot be true, or that a reader must know.",
        "`kbstats audit` lists what they found; `--fail-on CODE` exits with 1 when such a finding stands, to gate a",
        "publication.",
        "",
        "What a finding blocks on the audited board:",
        "",
        "- `speed`: the run stays correct; its speedup is not counted and it is not fast.",
        "- `correctness`: the run counts as not correct.",
        "- `identity`: the run is a copy of another one, and only one of them ranks.",
        "- `nothing`: the finding doubts a harness's counter, or informs.",
        "",
        "A verification that ranks clears what blocked correctness, and one that confirms this run's own claim what",
        "blocked speed; save `refuted`, `refuted_speed` and `reference_differs`, which verification itself found.",
        "",
        "A `suspect_…` rests on words in the kernel's source: a place to look, never a verdict, and it blocks nothing.",
        "`kbstats annotate RUN --verdict disputed --text …` answers a finding.",
        "",
        "| code | severity | blocks | what | threshold and its source |",
        "|---|---|---|---|---|",
    ]
    out += [f"| `{a['code']}` | {a['severity']} | {a['blocks']} | {a['purpose']} | {a['threshold']} |" for a in about()]
    return "\n".join(out) + "\n"
