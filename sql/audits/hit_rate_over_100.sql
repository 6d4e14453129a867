-- purpose: a cache hit rate over 100 %
-- severity: warning
-- blocks: nothing
-- doubts: *hit_rate
-- threshold: 100 %, by definition; 1 % more is left for rounding
-- needs: metrics(*hit?rate)
select
    run_id,
    printf('%s of %s %%: hits cannot outnumber accesses', max_by(name, (value, name)), number_text(max(value), 1)) as message,
    max(value) as value,
    100 as threshold
from metrics
where name like '%hit_rate' and value > 101
group by run_id
