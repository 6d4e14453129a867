-- purpose: the run ended before it began, or ran longer than between its two times
-- severity: warning
-- blocks: nothing
-- threshold: 60 s for clocks; a re-evaluation rewrites the end only, so it cannot cause this
select
    run_id,
    if(
        finished_at < started_at,
        printf('finished %s, started %s', strftime(finished_at, '%Y-%m-%d %H:%M:%S'), strftime(started_at, '%Y-%m-%d %H:%M:%S')),
        printf(
            'wall clock %s s, but only %s s lie between start and end',
            number_text(wall_s, 0), number_text(epoch(finished_at) - epoch(started_at), 0)
        )
    ) as message,
    epoch(finished_at) - epoch(started_at) as value,
    0 as threshold
from runs
where
    finished_at < started_at
    or wall_s > epoch(finished_at) - epoch(started_at) + 60
