"""How agents get from their first kernel to their last: states, transitions, what failures cost.

A run that stands in two records is gone through once (`linked_runs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.analytics.failures import names_of
from kbstats.analytics.output import rows_of

if TYPE_CHECKING:
    import duckdb

_TRANSITIONS = """
select previous_state, state, sum(n)::bigint as n, sum(n_runs)::bigint as n_runs
from state_transitions
where $models::varchar[] is null or list_contains($models::varchar[], model)
group by all
order by n desc, previous_state, state
"""
_COSTS = """
select
    failure_class,
    sum(turns_lost)::bigint as turns_lost,
    sum(n_runs)::bigint as n_runs,
    sum(recovered)::bigint as recovered,
    sum(recovered) / sum(n_runs) as recovery_rate,
    -- Over several models the median of their medians.
    median(median_turns_to_recover) as median_turns_to_recover
from class_costs
where $models::varchar[] is null or list_contains($models::varchar[], model)
group by failure_class
order by turns_lost desc, failure_class
"""
_REPEATS = """
select e.failure_class, e.tool, count(*) as kernels, sum(e.n_repeats)::bigint as repeats, max(e.n) as most
from repeated_errors as e
inner join runs as r on e.run_id = r.run_id
anti join linked_runs as l on e.run_id = l.run_id
where $models::varchar[] is null or list_contains($models::varchar[], coalesce(r.model, r.model_raw))
group by all
order by repeats desc, failure_class, tool
"""
_TOOLS = """
select
    tool,
    sum(n_runs)::bigint as n_runs,
    sum(n_calls)::bigint as n_calls,
    sum(n_runs_before_first_pass)::bigint as before_first_pass,
    sum(n_runs_passed) / sum(n_runs) as pass_rate
from tools_before_success
where $models::varchar[] is null or list_contains($models::varchar[], model)
group by tool
order by n_runs desc, tool
"""
_ANYTIME = """
select model, turns_used, n_runs, n_passed, share_passed, n_timed, geomean_best_speedup
from anytime_curve
where $models::varchar[] is null or list_contains($models::varchar[], model)
order by model, turns_used
"""
_EDITS = """
select
    coalesce(r.model, r.model_raw, '(unknown)') as model,
    count(*) as edits,
    median(e.lines_added) as median_lines_added,
    median(e.lines_removed) as median_lines_removed,
    median((e.lines_added + e.lines_removed) / e.n_lines) as median_share_changed
from kernel_edits as e
inner join runs as r on e.run_id = r.run_id
anti join linked_runs as l on e.run_id = l.run_id
where $models::varchar[] is null or list_contains($models::varchar[], coalesce(r.model, r.model_raw))
group by all
order by edits desc, model
"""


def paths(con: duckdb.DuckDBPyConnection, *, models: list[str] | None = None) -> dict[str, list[dict[str, Any]]]:
    """What runs with tool calls went through.

    Returns:
        `transitions` between the states of turns, `costs` of failure classes in turns, `repeats` of one
        error on one kernel, `tools` before a first pass, `edits` between kernels, and the `anytime` curve.
    """
    asked = {
        "transitions": _TRANSITIONS,
        "costs": _COSTS,
        "repeats": _REPEATS,
        "tools": _TOOLS,
        "edits": _EDITS,
        "anytime": _ANYTIME,
    }
    wanted = names_of(con, models)
    return {name: rows_of(con.execute(sql, {"models": wanted})) for name, sql in asked.items()}
