-- purpose: an energy or a power of exactly zero for a call that ran
-- severity: info
-- blocks: nothing
-- doubts: energy.per_run, power.mean
-- threshold: 0: the counter did not tick during the measurement
select
    run_id,
    printf('%s of exactly 0: the counter did not tick', min(name)) as message,
    0 as value,
    0 as threshold
from metrics
where name in ('energy.per_run', 'power.mean') and value = 0
group by run_id
