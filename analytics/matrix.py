"""Model x problem: what each model has at each problem, and the best kernel of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kbstats.analytics import board_notes, leaderboards, offers
from kbstats.analytics.output import rows_of

if TYPE_CHECKING:
    import duckdb

_CELLS = """
select
    level,
    problem_id,
    problem_name,
    coalesce(problem_name, problem_key) as problem,
    max(variant) as variant,
    problem_key,
    model,
    count(*) as n,
    count(*) filter (where counts_correct) as correct,
    max(speedup) as best_speedup,
    coalesce(
        first(run_id order by speedup desc, run_id) filter (where speedup is not null),
        min(run_id) filter (where counts_correct),
        min(run_id)
    ) as best_run_id,
    first(submitted_kernel_sha256 order by speedup desc, run_id)
        filter (where speedup is not null) as best_kernel_sha256,
    -- A run that is right and does not count at this level of trust is not shown as right: its reason is.
    if(
        count(*) filter (where counts_correct) > 0,
        'correct',
        mode(if(outcome = 'correct', 'not_counted', outcome) order by outcome)
    ) as outcome,
    mode(failure_class order by failure_class) as failure_class,
    if(count(*) filter (where counts_correct) > 0, null, mode(reason order by reason)) as reason
from board_runs
where counted
group by level, problem_id, problem_name, problem_key, model
order by level, problem_id, problem, problem_key, model
"""


def matrix(
    con: duckdb.DuckDBPyConnection, filters: leaderboards.Filters, *, min_coverage: float = 0.0, shared: bool = False
) -> leaderboards.Board:
    """One row a model and problem: attempts, correct ones, the best speedup with its run and kernel, else why not."""
    offers.check_baseline(con, filters.baseline)
    filters = replace(filters, verified_on=offers.verified_on(con, filters.verified_on))
    leaderboards.select_runs(con, filters)
    notes = []
    if min_coverage > 0:
        notes = board_notes.drop_uncovered(con, min_coverage, board_notes.offered(con, by="model"))
    if shared:
        board_notes.keep_shared(con, by="model")
    rows: list[dict[str, Any]] = rows_of(con.execute(_CELLS))
    if rows:
        pooled = board_notes.pooled(con, trust=filters.trust, by="model")
        notes = [*pooled, *board_notes.baseline(con, filters.baseline), *notes]
    return leaderboards.Board(rows, notes)


def wide(rows: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """The same with one row a problem and one column a model.

    Returns:
        The models by name, and rows of `level`, `problem_id`, `problem_name`, `problem`, `variant` and
        `cells`, one a model: the cell's row, None where that model did not attempt the problem.
    """
    models = sorted({r["model"] for r in rows})
    problems: dict[str, dict[str, Any]] = {}
    for r in rows:
        row = problems.setdefault(
            r["problem_key"],
            {k: r[k] for k in ("level", "problem_id", "problem_name", "problem", "variant")}
            | {"cells": dict.fromkeys(models)},
        )
        row["cells"][r["model"]] = r
    return models, list(problems.values())
