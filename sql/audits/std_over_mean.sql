-- purpose: the runtime scatters by more than itself: the mean says little
-- severity: warning
-- blocks: nothing
-- doubts: runtime.std, runtime.mean
-- threshold: 1.0: a standard deviation above the mean
-- needs: metrics(runtime.std)
with spread as (
    select
        s.run_id,
        s.subject,
        s.value as std_us,
        -- A table may give the mean as the run's own runtime alone.
        coalesce(m.value, if(s.subject = 'candidate', r.runtime_us, r.ref_runtime_us)) as mean_us
    from metrics as s
    left join runs as r on s.run_id = r.run_id
    left join metrics as m
        on
            m.name = 'runtime.mean' and s.run_id = m.run_id and s.subject = m.subject and s.source = m.source
            and s.turn is not distinct from m.turn and s.seq is not distinct from m.seq
    where s.name = 'runtime.std' and s.subject in ('candidate', 'reference') and s.turn is null
)
select
    run_id,
    printf('standard deviation %.3g us over a mean of %.3g us (%s)', std_us, mean_us, subject) as message,
    std_us / mean_us as value,
    1.0 as threshold
from spread
where mean_us > 0 and std_us > mean_us
