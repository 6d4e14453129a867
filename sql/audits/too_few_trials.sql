-- purpose: the runtime rests on very few timings
-- severity: info
-- blocks: nothing
-- threshold: 10: the fewest trials of the peers' harnesses (10 to 100)
select
    run_id,
    printf('runtime from %d trials', min(value)::bigint) as message,
    min(value) as value,
    10 as threshold
from metrics
where name = 'runtime.trials' and turn is null and value < 10
group by run_id
