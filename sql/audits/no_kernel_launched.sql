-- purpose: correct and timed, although its profiled call launched no kernel at all
-- severity: error
-- blocks: speed
-- doubts: kernels.launched
-- threshold: 0 launches: a result that was computed on the GPU took at least one; an answer kept from an earlier call takes none
-- needs: metrics(kernels.launched)
select
    m.run_id,
    'its profiled call launched no kernel: an answer kept from an earlier call, or work that the profiler does not see' as message,
    max(m.value) as value,
    1 as threshold
from metrics as m
inner join runs as r on m.run_id = r.run_id
where
    m.name = 'kernels.launched' and m.subject = 'candidate' and m.turn is null
    and r.correct and (r.runtime_us is not null or r.speedup is not null)
group by m.run_id
having max(m.value) = 0
