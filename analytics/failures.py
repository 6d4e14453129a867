"""Why attempts failed: counts of failing tool calls and runs, by class, owner, model, problem or tool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.analytics.output import rows_of

if TYPE_CHECKING:
    import duckdb

GROUPINGS = ("class", "owner", "model", "problem", "sweep", "tool")
"""What `summary` can have one row of."""

# One row a failing tool call, and one a failed run without any: an official results file or a table
# keeps no calls, and its failures must not be missing from the count. The texts of a million calls are not
# looked at: only which call or run gives each row's example is found, and its words are fetched behind.
_SUMMARY = """
with events as (
    select f.run_id, f.turn, f.seq, f.tool, f.failure_class, f.owner, false as decisive, false as bare
    from tool_failures as f
    union all
    select
        o.run_id, o.turn, null as seq, '(run)' as tool, o.failure_class, o.owner, true as decisive,
        o.evidence is null as bare
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
    where $grouping::varchar <> 'tool' or not decisive
),
by_run as (
    select
        key, run_id, model, failure_class,
        count(*) filter (where not decisive) as tool_results,
        count(*) filter (where decisive) as runs_ended,
        min({ 'bare': bare, 'run_id': run_id, 'decisive': decisive, 'turn': turn, 'seq': seq }) as place
    from keyed
    group by all
),
by_class as (
    select key, failure_class, sum(tool_results + runs_ended) as n from by_run group by all
),
commonest as (
    select key, min_by(failure_class, (-n, failure_class)) as failure_class from by_class group by key
),
summed as (
    select
        key,
        sum(tool_results)::bigint as tool_results,
        sum(runs_ended)::bigint as runs_ended,
        count(distinct run_id) as runs_touched,
        count(distinct model) as models,
        min(place) as place
    from by_run
    group by key
)
select
    k.key, c.title, c.owner, k.tool_results, k.runs_ended, k.runs_touched, k.models, m.failure_class as commonest,
    k.place
from summed as k
inner join commonest as m on k.key = m.key
left join failure_classes as c on k.key = c.class
order by k.tool_results + k.runs_ended desc, k.key
"""
# A list of runs, not a join alone: the planner moves it down to the tables, so that no other run's texts are read.
_WORDS = """
with places as (
    select unnest($keys::varchar[]) as key,
    unnest($places::struct(bare boolean, run_id varchar, decisive boolean, turn bigint, seq bigint)[]) as place
),
calls as (
    select run_id, turn, seq, evidence from tool_failures where list_contains($runs::varchar[], run_id)
),
ended as (
    select run_id, evidence from run_failures where list_contains($runs::varchar[], run_id)
)
select p.key, c.evidence
from places as p
inner join calls as c on p.place.run_id = c.run_id and p.place.turn = c.turn and p.place.seq = c.seq
where not p.place.decisive
union all
select p.key, e.evidence
from places as p
inner join ended as e on p.place.run_id = e.run_id
where p.place.decisive
"""

# A failing call's text; of a run that failed without one, what its final result or label says. Which they are is
# found first, so that no other text is held.
_UNCLASSIFIED = """
with calls as materialized (
    select run_id, turn, seq, tool from tool_failures where failure_class = 'unclassified'
),
ended as materialized (
    select run_id, evidence from run_failures where failure_class = 'unclassified' and decided_by <> 'submission'
),
said as (
    select t.run_id, any_value(t.body order by t.origin, t.field = 'text' desc, t.field, t.base, t.body) as body
    from failure_texts as t
    semi join ended as e on t.run_id = e.run_id
    where t.turn is null and t.origin <> 'tool'
    group by t.run_id
),
unnamed as (
    select f.run_id, f.turn, f.seq, f.tool, c.result_text as text
    from tool_calls as c
    inner join calls as f on f.run_id = c.run_id and f.turn = c.turn and f.seq = c.seq
    where c.ok = false
    union all
    select f.run_id, null as turn, null as seq, '(run)' as tool, coalesce(t.body, f.evidence, r.source_outcome) as text
    from ended as f
    inner join runs as r on f.run_id = r.run_id
    left join said as t on f.run_id = t.run_id
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
    places = [r.pop("place") for r in rows]
    asked = {"keys": [r["key"] for r in rows], "places": places, "runs": sorted({p["run_id"] for p in places})}
    words = dict(con.execute(_WORDS, asked).fetchall())
    for r in rows:
        r["example"] = words.get(r["key"])
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
