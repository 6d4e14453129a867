-- purpose: the speedup is not the quotient of the run's own runtimes
-- severity: error
-- blocks: speed
-- doubts: speedup
-- threshold: what rounding explains: both runtimes to 3 significant figures or to 0.01 ms, whichever is coarser, the speedup to 2 decimals; and 1 % more
with rounded as (
    select
        run_id,
        speedup,
        runtime_us as t,
        ref_runtime_us as f,
        -- Half a unit in the last place kept. A time that is no multiple of 10 us was not cut to 0.01 ms.
        0.5 * greatest(pow(10, floor(log10(runtime_us)) - 2), if(abs(runtime_us / 10 - round(runtime_us / 10)) < 1e-6, 10, 0)) as dt,
        0.5 * greatest(pow(10, floor(log10(ref_runtime_us)) - 2), if(abs(ref_runtime_us / 10 - round(ref_runtime_us / 10)) < 1e-6, 10, 0)) as df
    from runs
    where speedup > 0 and runtime_us > 0 and ref_runtime_us > 0
),
bounds as (
    select
        *,
        (f - df) / (t + dt) as lowest,
        if(t > dt, (f + df) / (t - dt), 'inf'::double) as highest
    from rounded
)
select
    run_id,
    printf('speedup %.4g, but its own runtimes give %.4g (%.4g us over %.4g us)', speedup, f / t, f, t) as message,
    speedup as value,
    f / t as threshold
from bounds
where speedup < 0.99 * lowest - 0.005 or speedup > 1.01 * highest + 0.005
