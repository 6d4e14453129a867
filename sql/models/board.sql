-- purpose: the leaderboard, by any one column
-- grain: key
-- inputs: ranked_runs
-- parameters: those of ranked_runs; `grouping` names the column that one row stands for. Rates' intervals, bootstrap and rank are added by analytics/leaderboards.py.
create or replace macro board(
    grouping := 'model',
    levels := null,
    variants := null,
    suites := null,
    sweeps := null,
    modes := null,
    models := null,
    hardwares := null,
    backends := null,
    precisions := null,
    trust := 'claimed',
    verified_on := null,
    baseline := null,
    exclude_infra := false
) as table
-- `excluded_infra` is counted whether or not such runs are taken out, so they are taken out here.
with rows_in as (
    select
        *,
        not (exclude_infra and is_infra) as counted
    from ranked_runs(
        grouping := grouping, levels := levels, variants := variants, suites := suites, sweeps := sweeps, modes := modes,
        models := models, hardwares := hardwares, backends := backends, precisions := precisions,
        trust := trust, verified_on := verified_on, baseline := baseline, exclude_infra := false
    )
)
select
    key,
    count(*) filter (where counted) as n,
    count(*) filter (where counted and counts_correct) as correct,
    count(speedup) filter (where counted) as n_speedup,
    median(speedup) filter (where counted) as median_speedup,
    -- In one order: a sum of floats taken as threads deliver it differs in its last bit from query to query.
    exp(avg(ln(speedup) order by run_id) filter (where counted and speedup > 0)) as geomean_speedup,
    max(speedup) filter (where counted) as best_speedup,
    count(*) filter (where counted and speedup > 1) as n_fast_1,
    count(*) filter (where counted and speedup > 2) as n_fast_2,
    count(*) filter (where counted and near_tie) as near_tie,
    count(*) filter (where is_infra) as excluded_infra,
    count(*) filter (where counted and withdrawn) as withdrawn,
    count(*) filter (where counted and flagged) as flagged,
    count(*) filter (where counted and verified) as verified,
    count(*) filter (where counted and refuted) as refuted,
    count(distinct problem_key) filter (where counted) as n_problems,
    count(distinct model) filter (where counted) as n_models,
    sum(total_tokens) filter (where counted) as total_tokens,
    sum(cost_usd order by run_id) filter (where counted) as cost_usd,
    -- What a solved problem cost can be said only where every attempt says what it cost.
    count(distinct problem_key) filter (where counted and counts_correct) as n_solved,
    count(total_tokens) filter (where counted) as n_tokens,
    count(cost_usd) filter (where counted) as n_cost,
    sum(wall_s order by run_id) filter (where counted) as wall_s,
    median(n_turns) filter (where counted) as median_turns,
    median(turns_to_first_right) filter (where counted) as turns_to_first_correct,
    median(turns_to_best) filter (where counted) as turns_to_best,
    count(sol_share) filter (where counted and counts_correct) as n_sol,
    median(sol_share) filter (where counted and counts_correct) as median_sol,
    -- Of what a row pools it has no one level, variant or problem.
    if(min(level) = max(level), min(level), null) as level,
    if(min(variant) = max(variant), min(variant), null) as variant,
    if(min(problem_id) = max(problem_id), min(problem_id), null) as problem_id,
    if(min(problem_name) = max(problem_name), min(problem_name), null) as problem_name,
    max(verified_on) as verified_on,
    -- The best run that counts here, of two as fast always the same one; it may have kept no kernel.
    first(run_id order by speedup desc, run_id asc) filter (where counted and speedup is not null) as best_run_id,
    first(model order by speedup desc, run_id asc) filter (where counted and speedup is not null) as best_model,
    first(submitted_kernel_sha256 order by speedup desc, run_id asc) filter (where counted and speedup is not null) as best_kernel_sha256
from rows_in
group by key
having count(*) > 0;
