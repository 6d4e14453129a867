-- purpose: the runtime is far below the time its own kernels take: another unit, or work not waited for
-- severity: warning
-- blocks: nothing
-- doubts: runtime, cuda_time.total
-- threshold: one half: the profiler's sum may cover several streams, which halves it at most in practice
-- needs: metrics(cuda_time.total)
select
    r.run_id,
    printf('runtime of %.4g us, but its kernels take %.4g us', r.runtime_us, m.value) as message,
    r.runtime_us as value,
    m.value as threshold
from runs as r
inner join metrics as m
    on r.run_id = m.run_id and m.name = 'cuda_time.total' and m.subject = 'candidate' and m.turn is null
where r.runtime_us > 0 and r.runtime_us < 0.5 * m.value - 5
