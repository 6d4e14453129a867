-- purpose: the source changed the outcome afterwards
-- severity: warning
-- blocks: nothing
-- threshold: none
with changed as (
    select
        run_id,
        coalesce(source_outcome, 'correct') as now,
        coalesce(extra ->> '$.outcome_original', extra ->> '$.correct_original') as before,
        null as made_at
    from runs
    where
        json_exists(extra, '$.outcome_original')
        or json_exists(extra, '$.correct_source')
        or lower(coalesce(extra ->> '$.timeout_recovered', '')) = 'true'
    union all
    select
        r.run_id,
        coalesce(r.source_outcome, if(r.correct, 'correct', 'not correct')) as now,
        c.record ->> '$.run.source_outcome' as before,
        coalesce(c.finished_at, '-infinity'::timestamptz) as made_at
    from run_copies as c
    inner join runs as r on c.run_id = r.run_id
    where c.reason = 'relabelled' and (c.record ->> '$.run.source_outcome') is distinct from r.source_outcome
)
select
    run_id,
    printf('relabelled %s, was %s', now, coalesce(before, 'another outcome')) as message,
    null as value,
    null as threshold
from changed
-- What it was by the run's own record, else by the latest of the others; a name for it before none.
qualify row_number() over (partition by run_id order by before is null, made_at desc nulls first, before asc, now asc) = 1
