-- purpose: a speedup beyond what the reference's own use of the GPU leaves at equal work
-- severity: info
-- blocks: nothing
-- doubts: speedup, dram.utilization, compute.utilization
-- threshold: 100 % over the reference's highest utilisation; a kernel that moves or computes less than the reference (fusion, algebra) exceeds it lawfully
-- needs: metrics(dram.utilization, compute.utilization)
select
    m.run_id,
    printf(
        'speedup of %sx, while the reference already uses %.0f %% of the GPU: %.1fx is left at equal work',
        number_text(max(r.speedup), 1), max(m.value), 100 / max(m.value)
    ) as message,
    max(r.speedup) as value,
    100 / max(m.value) as threshold
from metrics as m
inner join runs as r on m.run_id = r.run_id
where
    m.subject = 'reference' and m.name in ('dram.utilization', 'compute.utilization') and m.turn is null
    and m.value between 1 and 101 and r.correct
group by m.run_id
having max(r.speedup) > 1.1 * 100 / max(m.value)
