-- purpose: runs whose claim is worth re-running: correct by evidence, with a claimed speedup, best claims first
-- grain: run_id
-- inputs: runs, run_outcomes, kernels
-- parameters: each list NULL means no filter; run_ids alone picks runs whatever their outcome
create or replace macro verify_candidates(
    levels := null,
    models := null,
    sweeps := null,
    variants := null,
    suites := null,
    run_ids := null
) as table
select
    r.run_id,
    r.suite,
    r.level,
    r.variant,
    r.problem_id,
    r.problem_name,
    r.model,
    r.precision,
    r.speedup as claimed_speedup,
    r.baseline as claimed_baseline,
    r.hardware as claimed_gpu,
    r.submitted_kernel_sha256 as kernel_sha256,
    k.source_code as kernel,
    o.outcome
from runs as r
inner join run_outcomes as o on r.run_id = o.run_id
left join kernels as k on r.submitted_kernel_sha256 = k.kernel_sha256
where
    (levels is null or list_contains(levels, r.level))
    and (models is null or list_contains(models, r.model) or list_contains(models, r.model_raw))
    and (sweeps is null or list_contains(sweeps, r.sweep))
    and (variants is null or list_contains(variants, coalesce(r.variant, 'original')))
    and (suites is null or list_contains(suites, r.suite))
    and if(run_ids is null, o.outcome = 'correct' and r.speedup is not null, list_contains(run_ids, r.run_id))
order by r.speedup desc nulls last, r.run_id asc;
