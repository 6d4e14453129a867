-- purpose: faster than the named GPU can move the bytes, or do the arithmetic, that its own profile counted
-- severity: error
-- blocks: speed
-- doubts: runtime
-- threshold: bytes over the data sheet's bandwidth, operations over twice its highest rate there (data/gpus.toml leaves 8-bit types out, which run at twice the 16-bit rate), less 10 % for clocks; bytes count from 256 MB on, more than any GPU's cache keeps from one timed call to the next
-- needs: metrics(gpu_time), metrics(dram.bandwidth)
with profiled as (
    select
        run_id,
        max(value) filter (where name = 'gpu_time') as gpu_us,
        max(value) filter (where name = 'dram.bandwidth') as gbs,
        max(value) filter (where name = 'arithmetic_intensity') as intensity
    from metrics
    where
        name in ('gpu_time', 'dram.bandwidth', 'arithmetic_intensity')
        and subject = 'candidate' and source = 'nsight' and turn is null
    group by run_id
),
floors as (
    select
        r.run_id,
        r.runtime_us,
        s.gpu,
        p.gbs * 1e3 * p.gpu_us as n_bytes,
        p.gbs * p.gpu_us / s.bandwidth_gbs as memory_us,
        p.intensity * p.gbs * p.gpu_us / (2 * s.peak_tflops * 1e3) as compute_us
    from profiled as p
    inner join runs as r on p.run_id = r.run_id
    inner join gpu_sheets as s on gpu_key(r.hardware) = s.gpu
    -- A bandwidth over the peak doubts its counter: nothing follows from it.
    where p.gpu_us > 0 and p.gbs between 0 and 1.05 * s.bandwidth_gbs and r.runtime_us > 0
)
select
    run_id,
    if(
        compute_us is not null and runtime_us < 0.9 * compute_us,
        printf('runtime of %.4g us; the arithmetic that its profile counts takes the %s at least %.4g us', runtime_us, gpu, compute_us),
        printf('runtime of %.4g us; the %.0f MB that its profile counts take the %s at least %.4g us', runtime_us, n_bytes / 1e6, gpu, memory_us)
    ) as message,
    runtime_us as value,
    greatest(memory_us, compute_us) as threshold
from floors
where (n_bytes >= 256e6 and runtime_us < 0.9 * memory_us) or runtime_us < 0.9 * compute_us
