-- purpose: a memory bandwidth above the GPU's peak
-- severity: warning
-- blocks: nothing
-- doubts: dram.bandwidth, dram.read_bandwidth, dram.write_bandwidth
-- threshold: the peak that the source itself reports beside it, else that of the named GPU in data/gpus.toml; 5 % is left for clocks
-- needs: metrics(dram.bandwidth, dram.read_bandwidth, dram.write_bandwidth)
with measured as (
    select
        m.run_id,
        m.value,
        coalesce(p.value, s.bandwidth_gbs) as peak,
        if(p.value is null, 'of the data sheet', 'named beside it') as origin
    from metrics as m
    left join metrics as p
        on
            m.run_id = p.run_id and p.name = 'peak.bandwidth'
            and m.turn is not distinct from p.turn and m.seq is not distinct from p.seq
    left join runs as r on m.run_id = r.run_id
    left join gpu_sheets as s on gpu_key(r.hardware) = s.gpu
    where m.name in ('dram.bandwidth', 'dram.read_bandwidth', 'dram.write_bandwidth')
)
select
    run_id,
    printf('memory bandwidth of %s GB/s, over the peak of %s GB/s %s', number_text(value, 0), number_text(peak, 0), origin) as message,
    value,
    peak as threshold
from measured
where value > 1.05 * peak
-- The highest, with the peak that stands beside it and no other's.
qualify row_number() over (partition by run_id order by value desc, peak asc, origin asc) = 1
