-- purpose: a memory bandwidth above the peak that the same source names
-- severity: warning
-- blocks: nothing
-- threshold: the peak bandwidth that the source itself reports for the GPU; 5 % is left for clocks
select
    m.run_id,
    printf('memory bandwidth of %.0f GB/s, over the peak of %.0f GB/s named beside it', max(m.value), max(p.value)) as message,
    max(m.value) as value,
    max(p.value) as threshold
from metrics as m
inner join metrics as p
    on m.run_id = p.run_id and p.name = 'peak.bandwidth' and m.turn is not distinct from p.turn and m.seq is not distinct from p.seq
where m.name in ('dram.bandwidth', 'dram.read_bandwidth', 'dram.write_bandwidth') and m.value > 1.05 * p.value
group by m.run_id
