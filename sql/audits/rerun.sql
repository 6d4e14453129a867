-- purpose: the same attempt stands in several sources with different content; the latest is taken
-- severity: info
-- blocks: nothing
-- threshold: none: the records' own content
-- needs: run_copies
select
    run_id,
    printf('%d other record(s) of this attempt differ; the latest is taken', count(*)) as message,
    count(*) as value,
    null as threshold
from run_copies
where reason = 'rerun'
group by run_id
