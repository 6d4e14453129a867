-- purpose: how far from 1.0x a run's speedup must lie to be a change, from the spread of its own timings
-- grain: run_id
-- inputs: runs, metrics
-- parameters: none. A mean that no metric gives is the run's own runtime. The band is 1.96 standard errors of the quotient of the two means (the error of each is its
--   standard deviation over the root of its trials), and at least 0.02: two runs of unchanged code drift by that much.
--   A run without a row has kept no spread, and its band is that least one.
create or replace view run_noise as
with spread as (
    select
        m.run_id,
        m.subject,
        coalesce(
            max(m.value) filter (where m.name = 'runtime.mean'), max(if(m.subject = 'candidate', r.runtime_us, r.ref_runtime_us))
        ) as mean_us,
        max(m.value) filter (where m.name = 'runtime.std') as std_us,
        max(m.value) filter (where m.name = 'runtime.trials') as trials
    from metrics as m
    left join runs as r on m.run_id = r.run_id
    where m.turn is null and m.name in ('runtime.mean', 'runtime.std', 'runtime.trials') and m.subject in ('candidate', 'reference')
    group by m.run_id, m.subject
),
-- Sources give the number of trials once, for both.
errors as (
    select
        run_id,
        pow(std_us / mean_us, 2) / greatest(coalesce(trials, max(trials) over (partition by run_id), 1), 1) as variance
    from spread
    where mean_us > 0 and std_us is not null
)
select run_id, greatest(0.02, 1.96 * sqrt(sum(variance))) as noise_band
from errors
group by run_id;
