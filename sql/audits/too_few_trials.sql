-- purpose: the runtime rests on very few timings
-- severity: info
-- blocks: nothing
-- doubts: runtime.trials
-- threshold: 10: the fewest trials of the peers' harnesses (10 to 100)
-- needs: metrics(runtime.trials)
select
    run_id,
    printf('runtime from %s trials', number_text(min(value), 0)) as message,
    min(value) as value,
    10 as threshold
from metrics
where name = 'runtime.trials' and turn is null and value between 1 and 9
group by run_id
