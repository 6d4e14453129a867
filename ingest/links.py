"""The same run seen in two formats (a table's row and a trace): found and linked, never counted twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.ingest import changes
from kbstats.ingest.transactions import transaction

if TYPE_CHECKING:
    import duckdb

_AGREEING = r"""
create or replace temp table agreeing as
with
side as (
    select
        r.run_id, r.format, r.level, r.problem_id, r.mode, r.speedup, r.wall_s, r.n_turns, r.sample_id,
        lower(r.backend) as backend, lower(r.precision) as precision,
        -- the GPU's model, where its name holds one: "H100_Modal" and "NVIDIA H100 80GB HBM3" are one
        nullif(regexp_extract(
            upper(r.hardware), '(?:^|[^A-Z0-9])(G?[BHATLV]\d{1,3}[SG0]?|P100|MI\d{3}X?|A?\d{4})(?:[^A-Z0-9]|$)', 1
        ), '') as gpu,
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
-- runs whose figures are alike to the last one: the first is paired with the first, the second with the second
numbered as (
    select
        *,
        row_number() over (
            partition by format, model, level, problem_id, problem_name, mode, sweep, folder, speedup, wall_s, n_turns
            order by sample_id, run_id
        ) as nth
    from side
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
        -- near 1.0x chance agrees as well: there a speedup alone tells nothing, save in the same sweep
        abs(b.speedup - 1) >= 0.05 or (a.sweep = b.sweep and a.sweep <> '') as telling_speedup,
        coalesce(a.folder = b.folder, false) as same_folder,
        coalesce(a.sample_id = b.sample_id, false) as same_sample,
        a.nth = b.nth as same_nth
    from numbered as a
    join numbered as b
        on a.model = b.model and a.level is not distinct from b.level and a.problem_id = b.problem_id
        and a.format <> b.format
        and (a.problem_name = b.problem_name or a.problem_name = '' or b.problem_name = '')
        and (a.mode = b.mode or a.mode is null or b.mode is null)
        and (a.gpu = b.gpu or a.gpu is null or b.gpu is null)
        and (a.backend = b.backend or a.backend is null or b.backend is null)
        and (a.precision = b.precision or a.precision is null or b.precision is null)
        and (a.rich, b.format, b.run_id) > (b.rich, a.format, a.run_id)
)
select
    run_id, linked_run_id, format, linked_format,
    concat_ws(', ',
        if(two_speedups and same_speedup, 'speedup', null),
        if(two_walls and same_wall, 'wall_s', null),
        if(same_turns, 'n_turns', null),
        if(same_folder, 'folder', null)
    ) as matched_on,
    same_folder::int * 16 + (two_walls and same_wall)::int * 8 + (two_speedups and same_speedup)::int * 4
    + same_sweep::int * 2 + coalesce(same_turns, false)::int as score,
    row_number() over (order by score desc, same_sample desc, same_nth desc, run_id, linked_run_id) as best
from pair
where
    -- a wall clock that differs is another run; one that agrees is the same
    same_folder or not (two_walls and not same_wall)
    and (
        (two_walls and same_wall)
        or (two_speedups and same_speedup and (telling_speedup or coalesce(same_turns, false)))
        or (same_turns and same_sweep)
    )
    and coalesce(same_turns, true)
"""
_ROUND = """
insert into new_links by name
with
taken as (
    select run_id as own, linked_format as other from new_links
    union all
    select linked_run_id as own, format as other from new_links
),
free as (
    select a.*
    from agreeing as a
    anti join taken as t on a.run_id = t.own and a.linked_format = t.other
    anti join taken as u on a.linked_run_id = u.own and a.format = u.other
),
-- each pair from both its ends: a run has one partner of each other format, whichever of the two is the richer
ends as (
    select best, run_id as own, linked_format as other from free
    union all
    select best, linked_run_id as own, format as other from free
),
first as (
    select best, best = min(best) over (partition by own, other) as is_first from ends
)
select f.run_id, f.linked_run_id, f.matched_on, f.format, f.linked_format
from free as f
semi join (select best from first where is_first group by best having count(*) = 2) as m on f.best = m.best
"""
_COLUMNS = "run_id, linked_run_id, matched_on"


def relink(con: duckdb.DuckDBPyConnection) -> int:
    """Find all links anew; returns how many there are.

    Two runs of different formats are one when model (folded to letters and digits), level, problem
    and mode agree, no figure contradicts, and at least one agrees that chance does not: the wall
    clock, the speedup to its rounding, the number of turns within sweeps named alike, or the folder
    of the attempt, in which a transcript lies beside its result. Each run links to one run of another
    format; the richer of the two ranks. Of several runs with the same figures each links to one of the
    others, those of one sample number to each other.
    """
    several = con.execute("select count(distinct format) > 1 from runs").fetchall()[0][0]
    con.execute(
        "create or replace temp table new_links as "
        "select run_id, linked_run_id, matched_on, '' as format, '' as linked_format from run_links limit 0"
    )
    if several:
        con.execute(_AGREEING)
        # the best pairs first; then, of the runs that are left, again the best
        while con.execute(_ROUND).fetchall() != [(0,)]:
            pass
        con.execute("drop table agreeing")
    differ = f"(select {_COLUMNS} from new_links except all from run_links)"  # noqa: S608  our names
    back = f"(from run_links except all select {_COLUMNS} from new_links)"  # noqa: S608
    if con.execute(f"select 1 from ({differ} union all {back}) limit 1").fetchall():  # noqa: S608
        with transaction(con):
            con.execute("delete from run_links")
            con.execute(f"insert into run_links select {_COLUMNS} from new_links order by all")  # noqa: S608
            changes.links(con)
    n = con.execute("select count(*) from new_links").fetchall()[0][0]
    con.execute("drop table new_links")
    return int(n)
