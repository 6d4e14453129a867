-- purpose: a share of warp stalls over 100 %
-- severity: info
-- blocks: nothing
-- doubts: warp_stall.*
-- threshold: 100 %, by definition of a share; sources that report stall cycles per instruction exceed it lawfully
-- needs: metrics(warp?stall.*)
select
    run_id,
    printf('%s of %s %%: a share cannot exceed 100, so this is another quantity', max_by(name, (value, name)), number_text(max(value), 0)) as message,
    max(value) as value,
    100 as threshold
from metrics
where name like 'warp_stall.%' and unit = 'pct' and value > 100
group by run_id
