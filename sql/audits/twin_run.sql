-- purpose: the same run stands in the database twice under different names; one of the set ranks
-- severity: error
-- blocks: identity
-- threshold: same problem, GPU model, verdict, kernel or none kept, and wall clock, tokens and turns equal to the last digit
with twins as (
    select
        r.run_id,
        count(*) over same_run as n,
        -- Where one of them stands in a richer record, that record ranks, and all of these are copies.
        first_value(r.run_id) over (same_run order by (l.run_id is null), r.run_id) as kept
    from runs as r
    inner join run_outcomes as o on r.run_id = o.run_id
    left join linked_runs as l on r.run_id = l.run_id
    -- Runs that never began are alike without being one.
    where wall_s > 0 and total_tokens > 0 and n_turns > 0
    window same_run as (
        partition by
            suite, level, variant_key(variant), problem_id, problem_name, sample_id, format,
            submitted_kernel_sha256, wall_s, total_tokens, n_turns, speedup, correct, compiled, o.label_outcome, gpu_key(hardware)
    )
)
select
    run_id,
    printf('the same run as %s, under another name', kept) as message,
    n as value,
    1 as threshold
from twins
where n > 1 and run_id <> kept
