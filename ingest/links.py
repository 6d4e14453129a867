"""The same run seen in two formats (a table's row and a trace): found and linked, never counted twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_RELINK = r"""
insert into run_links by name
with
side as (
    select
        r.run_id, r.format, r.level, r.problem_id, r.mode, r.speedup, r.wall_s, r.n_turns,
        regexp_replace(lower(coalesce(r.model, '')), '[^a-z0-9]', '', 'g') as model,
        regexp_replace(lower(coalesce(r.problem_name, '')), '\.py$', '') as problem_name,
        -- a sweep's name without the words that reports append to it
        regexp_replace(lower(coalesce(r.sweep, '')), '([_-](gpt|final|fixed|v[0-9]+))+$', '') as sweep,
        -- a folder named by time, harness, model and problem holds one attempt: its transcript, its result
        case
            when r.suite = 'transcripts' and regexp_full_match(r.sweep, '[0-9]{8}_[0-9]{6}_.+_[0-9]{2}_.+') then r.sweep
            when r.format = 'kernelbench_com' then r.extra ->> '$.run_id'
        end as folder,
        -- how much a source tells: how it ended, then turns, then a measured runtime
        (r.source_outcome is not null or r.correct is not null)::int * 4
        + (r.run_id in (select t.run_id from turns as t))::int * 2
        + (r.runtime_us is not null)::int as rich
    from runs as r
    where r.model is not null and r.problem_id is not null
),
pair as (
    select
        a.run_id, b.run_id as linked_run_id, a.format, b.format as linked_format,
        a.speedup is not null and b.speedup is not null as two_speedups,
        abs(a.speedup - b.speedup) <= greatest(0.0051, 0.005 * b.speedup) as same_speedup,
        a.wall_s is not null and b.wall_s is not null as two_walls,
        abs(a.wall_s - b.wall_s) <= greatest(0.06, 1e-5 * b.wall_s) as same_wall,
        a.n_turns = b.n_turns as same_turns,
        a.sweep = b.sweep as same_sweep,
        coalesce(a.folder = b.folder, false) as same_folder
    from side as a
    join side as b
        on a.model = b.model and a.level is not distinct from b.level and a.problem_id = b.problem_id
        and a.format <> b.format
        and (a.problem_name = b.problem_name or a.problem_name = '' or b.problem_name = '')
        and (a.mode = b.mode or a.mode is null or b.mode is null)
        and (a.rich, b.format, b.run_id) > (b.rich, a.format, a.run_id)
),
agreeing as (
    select
        *,
        concat_ws(', ',
            if(two_speedups and same_speedup, 'speedup', null),
            if(two_walls and same_wall, 'wall_s', null),
            if(same_turns, 'n_turns', null),
            if(same_folder, 'folder', null)
        ) as matched_on,
        same_folder::int * 16 + (two_walls and same_wall)::int * 8 + (two_speedups and same_speedup)::int * 4
        + same_sweep::int * 2 + coalesce(same_turns, false)::int as score
    from pair
    where
        -- a wall clock that differs is another run; one that agrees is the same
        same_folder or not (two_walls and not same_wall)
        and ((two_walls and same_wall) or (two_speedups and same_speedup) or (same_turns and same_sweep))
        and coalesce(same_turns, true)
),
best as (
    select
        *,
        row_number() over (partition by linked_run_id, format order by score desc, run_id) as n_of_linked,
        row_number() over (partition by run_id, linked_format order by score desc, linked_run_id) as n_of_run
    from agreeing
)
select run_id, linked_run_id, matched_on from best where n_of_linked = 1 and n_of_run = 1
"""


def relink(con: duckdb.DuckDBPyConnection) -> int:
    """Find all links anew; returns how many there are.

    Two runs of different formats are one when model (folded to letters and digits), level, problem
    and mode agree, no figure contradicts, and at least one agrees that chance does not: the wall
    clock, the speedup to its rounding, the number of turns within sweeps named alike, or the folder
    of the attempt, in which a transcript lies beside its result. Each run links to one run of another
    format; the richer of the two ranks.
    """
    con.execute("begin")
    con.execute("delete from run_links")
    if con.execute("select count(distinct format) from runs").fetchall()[0][0] > 1:
        con.execute(_RELINK)
    con.execute("commit")
    return int(con.execute("select count(*) from run_links").fetchall()[0][0])
