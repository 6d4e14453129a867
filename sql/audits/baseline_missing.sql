-- purpose: correct and timed, with nothing to compare the time against
-- severity: info
-- blocks: nothing
-- threshold: none: no speedup, no reference time, and no baseline of that GPU, suite and problem
select
    r.run_id,
    if(
        count(b.problem_name) > 0,
        printf('timed, without a speedup; baselines of this problem are of %s only', string_agg(distinct gpu_key(b.hardware), ', ' order by gpu_key(b.hardware))),
        'timed, without a speedup, and no baseline of this problem was ingested'
    ) as message,
    max(r.runtime_us) as value,
    null as threshold
from runs as r
left join baselines as b
    on
        r.suite = b.suite
        and r.level = b.level
        and b.mean_us is not null
        and (
            r.problem_name = b.problem_name
            or (r.problem_name is null and starts_with(b.problem_name, r.problem_id || '_'))
        )
where r.correct and r.runtime_us is not null and r.speedup is null and r.ref_runtime_us is null
group by r.run_id, r.hardware
having not coalesce(bool_or(gpu_key(b.hardware) = gpu_key(r.hardware)), false)
