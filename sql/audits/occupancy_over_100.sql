-- purpose: a profiler reports an occupancy over 100 %: the counter, or its aggregation, is wrong
-- severity: warning
-- blocks: nothing
-- doubts: occupancy
-- threshold: 100 %, by definition: active warps over the most that fit
-- needs: metrics(occupancy)
select
    run_id,
    printf('occupancy of %s %% (%s); no more than 100 %% can be active', number_text(max(value), 1), max_by(subject, (value, subject))) as message,
    max(value) as value,
    100 as threshold
from metrics
where name = 'occupancy' and value > 100
group by run_id
