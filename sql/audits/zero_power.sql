-- purpose: an energy or a power of exactly zero for something that ran; the zero itself is read as unknown
-- severity: info
-- blocks: nothing
-- doubts: energy.per_run, power.mean
-- threshold: 0: the counter did not tick during the measurement
-- needs: metrics(energy.per_run.zero, power.mean.zero)
select
    run_id,
    printf(
        '%s of exactly 0%s: the counter did not tick, so nothing was measured',
        string_agg(distinct regexp_replace(name, '\.zero$', ''), ', ' order by regexp_replace(name, '\.zero$', '')),
        if(bool_or(subject = 'candidate'), '', ' for the reference')
    ) as message,
    0 as value,
    0 as threshold
from metrics
where name in ('energy.per_run.zero', 'power.mean.zero')
group by run_id
