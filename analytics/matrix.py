"""Model x problem: what each model has at each problem, and the best kernel of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.analytics import board_notes, leaderboards
from kbstats.analytics.output import rows_of

if TYPE_CHECKING:
    import duckdb

_CELLS = """
select
    level,
    problem_id,
    coalesce(problem_name, problem_key) as problem,
    any_value(coalesce(variant, 'original')) as variant,
    problem_key,
    model,
    count(*) as n,
    count(*) filter (where counts_correct) as correct,
    max(speedup) as best_speedup,
    coalesce(max_by(run_id, speedup), min(run_id) filter (where counts_correct), min(run_id)) as best_run_id,
    max_by(submitted_kernel_sha256, speedup) as best_kernel_sha256,
    if(count(*) filter (where counts_correct) > 0, 'correct', mode(outcome order by outcome)) as outcome,
    mode(failure_class order by failure_class) as failure_class
from board_runs
where counted
group by level, problem_id, coalesce(problem_name, problem_key), problem_key, model
order by level, problem_id, problem, problem_key, model
"""


def matrix(
    con: duckdb.DuckDBPyConnection, filters: leaderboards.Filters, *, shared: bool = False
) -> leaderboards.Board:
    """One row a model and problem: attempts, correct ones, the best speedup with its run and kernel, else why not."""
    leaderboards.select_runs(con, filters)
    if shared:
        board_notes.keep_shared(con)
    rows: list[dict[str, Any]] = rows_of(con.execute(_CELLS))
    return leaderboards.Board(rows, board_notes.pooled(con, trust=filters.trust, by="model") if rows else [])


def wide(rows: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """The same with one row a problem and one column a model.

    Returns:
        The models by name, and rows of `level`, `problem_id`, `problem` and `cells`, one a model:
        the cell's row, None where that model did not attempt the problem.
    """
    models = sorted({r["model"] for r in rows})
    problems: dict[str, dict[str, Any]] = {}
    for r in rows:
        row = problems.setdefault(
            r["problem_key"],
            {k: r[k] for k in ("level", "problem_id", "problem")} | {"cells": dict.fromkeys(models)},
        )
        row["cells"][r["model"]] = r
    return models, list(problems.values())
