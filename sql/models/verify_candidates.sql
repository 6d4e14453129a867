-- purpose: runs whose claim is worth re-running: what the board of claims ranks, best speedups first, each attempt and each twin once
-- grain: run_id
-- inputs: runs, ranked_runs, run_status, kernels
-- parameters: the filters of ranked_runs, each list NULL for none; run_ids alone picks runs whatever their outcome;
--   flagged keeps runs with an audit finding that blocks something, twins among them
create or replace macro verify_candidates(
    levels := null,
    models := null,
    sweeps := null,
    variants := null,
    suites := null,
    run_ids := null,
    flagged := false,
    modes := null,
    hardwares := null,
    backends := null,
    precisions := null
) as table
select
    r.run_id,
    r.suite,
    r.level,
    -- What the run's own record leaves out is taken from the others, as everywhere (`run_problems`).
    if(r.variant is null and b.variant = 'original', null, b.variant) as variant,
    b.problem_id,
    b.problem_name,
    r.model,
    r.precision,
    r.speedup as claimed_speedup,
    r.baseline as claimed_baseline,
    r.hardware as claimed_gpu,
    r.submitted_kernel_sha256 as kernel_sha256,
    k.source_code as kernel,
    b.outcome
from ranked_runs(
    levels := levels, variants := variants, suites := suites, sweeps := sweeps, modes := modes, models := models,
    hardwares := hardwares, backends := backends, precisions := precisions, trust := 'claimed', attempted_only := false
) as b
inner join runs as r on b.run_id = r.run_id
inner join run_status as s on b.run_id = s.run_id
left join kernels as k on r.submitted_kernel_sha256 = k.kernel_sha256
where
    (not flagged or len(s.blocks_speed) + len(s.blocks_correctness) + len(s.blocks_identity) > 0)
    and if(
        run_ids is null,
        s.attempted and b.counts_correct and b.speedup is not null and (flagged or len(s.blocks_identity) = 0),
        list_contains(run_ids, r.run_id)
    )
order by r.speedup desc nulls last, r.run_id asc;
