"""Why attempts failed: counts of failing tool calls and runs, by class, owner, model, problem or tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.analytics.output import rows_of

if TYPE_CHECKING:
    import duckdb

GROUPINGS = ("class", "owner", "model", "problem", "sweep", "tool")
"""What `summary` can have one row of."""

# One row a failing tool call, and one a failed run without any: an official results file or a table
# keeps no calls, and its failures must not be missing from the count.
_SUMMARY = """
with events as (
    select f.run_id, f.tool, f.failure_class, f.owner, f.evidence, false as decisive
    from tool_failures as f
    union all
    select o.run_id, '(run)' as tool, o.failure_class, o.owner, o.evidence, true as decisive
    from run_failures as o
),
filtered as (
    select
        e.*,
        coalesce(r.model, r.model_raw, '(unknown)') as model,
        concat_ws(' ', 'L' || r.level, 'P' || r.problem_id, r.problem_name) as problem,
        coalesce(r.sweep, '(none)') as sweep
    from events as e
    inner join runs as r on e.run_id = r.run_id
    inner join run_status as s on e.run_id = s.run_id
    where
        -- The same run in a poorer record is no second attempt.
        s.left_out is distinct from 'linked'
        and ($levels::bigint[] is null or list_contains($levels::bigint[], r.level))
        and ($models::varchar[] is null or list_has_any($models::varchar[], [r.model, r.model_raw]))
        and ($sweeps::varchar[] is null or list_contains($sweeps::varchar[], r.sweep))
),
keyed as (
    select
        *,
        case $grouping::varchar
            when 'class' then coalesce(failure_class, 'unclassified')
            when 'owner' then coalesce(owner, '(none)')
            when 'model' then model
            when 'problem' then problem
            when 'sweep' then sweep
            else tool
        end as key
    from filtered
)
select
    k.key,
    max(c.title) as title,
    max(c.owner) as owner,
    count(*) filter (where not k.decisive) as tool_results,
    count(*) filter (where k.decisive) as runs_ended,
    count(distinct k.run_id) as runs_touched,
    count(distinct k.model) as models,
    mode(k.failure_class order by k.failure_class) as commonest,
    any_value(k.evidence order by k.run_id, k.evidence) as example
from keyed as k
left join failure_classes as c on k.key = c.class
where $grouping::varchar <> 'tool' or not k.decisive
group by k.key
order by tool_results + runs_ended desc, k.key
"""

# A failing call's text; of a run that failed without one, what its final result or label says.
_UNCLASSIFIED = """
with unnamed as (
    select f.run_id, f.turn, f.seq, f.tool, c.result_text as text
    from tool_failures as f
    inner join tool_calls as c on f.run_id = c.run_id and f.turn = c.turn and f.seq = c.seq
    where f.failure_class = 'unclassified'
    union all
    select f.run_id, null as turn, null as seq, '(run)' as tool, coalesce(t.body, f.evidence, r.source_outcome) as text
    from run_failures as f
    inner join runs as r on f.run_id = r.run_id
    left join (
        select run_id, any_value(body order by origin, field = 'text' desc, field, base, body) as body
        from failure_texts where turn is null group by run_id
    ) as t on f.run_id = t.run_id
    where f.failure_class = 'unclassified' and f.decided_by <> 'submission'
)
select f.run_id, f.turn, f.seq, f.tool, f.text
from unnamed as f
inner join runs as r on f.run_id = r.run_id
inner join run_status as s on f.run_id = s.run_id
where
    s.left_out is distinct from 'linked'
    and ($levels::bigint[] is null or list_contains($levels::bigint[], r.level))
    and ($models::varchar[] is null or list_has_any($models::varchar[], [r.model, r.model_raw]))
    and ($sweeps::varchar[] is null or list_contains($sweeps::varchar[], r.sweep))
order by f.run_id, f.turn, f.seq
"""

_RUNS = """
select
    f.run_id, f.model, f.level, f.problem_id, f.problem_name, f.sweep, f.outcome, f.failure_class, f.title, f.owner,
    f.decided_by, f.turn, f.seq, f.evidence, f.evidence_start, f.evidence_end, f.rule
from run_failures as f
inner join runs as r on f.run_id = r.run_id
inner join run_status as s on f.run_id = s.run_id
where
    s.left_out is distinct from 'linked'
    and ($levels::bigint[] is null or list_contains($levels::bigint[], r.level))
    and ($models::varchar[] is null or list_has_any($models::varchar[], [r.model, r.model_raw]))
    and ($sweeps::varchar[] is null or list_contains($sweeps::varchar[], r.sweep))
order by f.failure_class, f.model, f.level, f.problem_id, f.run_id
"""

_PATTERNS = """
select suite, sweep, variant, model, failure_class, n, n_runs, share, longest_streak, invalid
from sweep_patterns
where
    ($models::varchar[] is null or list_contains($models::varchar[], model))
    and ($sweeps::varchar[] is null or list_contains($sweeps::varchar[], sweep))
order by invalid desc, share desc, sweep, model, failure_class, suite, variant
"""


_NAMES = "select distinct coalesce(model, model_raw) from runs where list_contains($models::varchar[], model_raw)"


def _filters(levels: list[int], models: list[str], sweeps: list[str]) -> dict[str, Any]:
    return {"levels": levels or None, "models": models or None, "sweeps": sweeps or None}


def summary(
    con: duckdb.DuckDBPyConnection,
    *,
    by: str = "class",
    levels: list[int] | None = None,
    models: list[str] | None = None,
    sweeps: list[str] | None = None,
) -> list[dict[str, Any]]:
    """Counts of failures, most frequent first.

    Returns:
        Rows of the grouping's name, title and owner (of a class), `tool_results` (failing tool
        calls), `runs_ended` (runs that ended so), `runs_touched`, `models`, `commonest` and `example`.
    """
    rows = rows_of(con.execute(_SUMMARY, {"grouping": by, **_filters(levels or [], models or [], sweeps or [])}))
    drop = set() if by == "class" else {"title", "owner"}
    drop |= {"commonest"} if by == "class" else set()
    return [{by if k == "key" else k: v for k, v in r.items() if k not in drop} for r in rows]


def unclassified(
    con: duckdb.DuckDBPyConnection,
    *,
    levels: list[int] | None = None,
    models: list[str] | None = None,
    sweeps: list[str] | None = None,
) -> list[dict[str, Any]]:
    """Failing tool calls and runs that no rule names, with their text: what the next rule is written from."""
    return rows_of(con.execute(_UNCLASSIFIED, _filters(levels or [], models or [], sweeps or [])))


def failed_runs(
    con: duckdb.DuckDBPyConnection,
    *,
    levels: list[int] | None = None,
    models: list[str] | None = None,
    sweeps: list[str] | None = None,
) -> list[dict[str, Any]]:
    """One row a failed run: class, owner, the words that decided with their place in the text, and the rule."""
    return rows_of(con.execute(_RUNS, _filters(levels or [], models or [], sweeps or [])))


def patterns(
    con: duckdb.DuckDBPyConnection, *, models: list[str] | None = None, sweeps: list[str] | None = None
) -> list[dict[str, Any]]:
    """Failures of whole sweeps: share of a model's runs and longest row of problems; `invalid` where too many."""
    return rows_of(con.execute(_PATTERNS, {"models": names_of(con, models), "sweeps": sweeps or None}))


def names_of(con: duckdb.DuckDBPyConnection, models: list[str] | None) -> list[str] | None:
    """Models by the name that the views have, each asked for by alias or as its source has it; None asks for all."""
    if not models:
        return None
    return [*models, *(name for (name,) in con.execute(_NAMES, {"models": models}).fetchall())]
