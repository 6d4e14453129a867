-- purpose: a memory, compute or pipe utilisation over 100 % of the peak
-- severity: warning
-- blocks: nothing
-- doubts: dram.utilization, compute.utilization, dominant_pipe.utilization
-- threshold: 100 %, by definition; 1 % more is left for rounding
-- needs: metrics(dram.utilization, compute.utilization, dominant_pipe.utilization)
select
    run_id,
    printf('%s of %s %%: more than the GPU has', max_by(name, (value, name)), number_text(max(value), 1)) as message,
    max(value) as value,
    100 as threshold
from metrics
where name in ('dram.utilization', 'compute.utilization', 'dominant_pipe.utilization') and value > 101
group by run_id
