-- purpose: the runs of a board after its filters, with what counts at the level of trust asked for
-- grain: run_id
-- inputs: runs, run_status, run_trust, baselines, gpu_key
-- parameters: `grouping` names what `key` holds: model, mode, sweep, level, variant, suite, harness, hardware,
--   backend or problem. Each list NULL means no filter. trust is claimed, audited or verified. verified_on names
--   the GPU model of a verified board; NULL takes the one with the most ranking results, so that two
--   are never pooled. baseline NULL takes the source's speedup, else speedups against that baseline.
create or replace macro ranked_runs(
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
with filtered as (
    select r.*
    from runs as r
    where
        (levels is null or list_contains(levels, r.level))
        and (variants is null or list_contains(variants, coalesce(r.variant, 'original')))
        and (suites is null or list_contains(suites, r.suite))
        and (sweeps is null or list_contains(sweeps, r.sweep))
        and (modes is null or list_contains(modes, r.mode))
        and (models is null or list_contains(models, r.model) or list_contains(models, r.model_raw))
        and (hardwares is null or list_contains(hardwares, r.hardware) or list_contains(hardwares, gpu_key(r.hardware)))
        and (backends is null or list_contains(backends, r.backend))
),
chosen_gpu as (
    select coalesce(verified_on, mode(t.verified_on order by t.verified_on)) as gpu_model
    from run_trust as t
    semi join filtered as r on t.run_id = r.run_id
    where t.trust = 'verified' and t.counts_correct and (verified_on is null or t.verified_on = verified_on)
),
trusted as (
    select t.*
    from run_trust as t
    where
        t.trust = trust
        and (trust <> 'verified' or t.verified_on = (select c.gpu_model from chosen_gpu as c))
),
-- One reference timing of that GPU, problem and baseline; two eras of problem sizes are no answer.
reference_times as (
    select b.suite, b.level, b.problem_name, gpu_key(b.hardware) as gpu, any_value(b.mean_us) as mean_us
    from baselines as b
    where b.baseline = baseline
    group by b.suite, b.level, b.problem_name, gpu_key(b.hardware)
    having count(distinct b.mean_us) = 1
),
judged as (
    select
        r.run_id,
        r.source_id,
        r.suite,
        r.sweep,
        r.variant,
        r.mode,
        coalesce(r.model, r.model_raw, '(unknown)') as model,
        r.model_raw,
        r.harness,
        r.level,
        r.problem_id,
        r.problem_name,
        concat_ws('/', r.suite, coalesce(r.variant, ''), r.level, r.problem_id, r.problem_name) as problem_key,
        r.sample_id,
        r.backend,
        r.precision,
        r.hardware,
        r.total_tokens,
        r.cost_usd,
        r.wall_s,
        r.n_turns,
        r.submitted_kernel_sha256,
        s.outcome,
        s.failure_class,
        s.owner,
        s.label_conflict,
        s.claims_correct,
        s.is_infra,
        s.flagged,
        s.verified,
        s.refuted,
        s.codes,
        s.blocks_speed,
        t.verified_on,
        t.reason,
        coalesce(t.counts_correct and (t.reduced_to is null or precisions = [t.reduced_to]), false) as counts_correct,
        case
            when baseline is null or r.baseline = baseline or trust = 'verified' then t.speedup
            when not t.counts_correct or (trust <> 'claimed' and len(s.blocks_speed) > 0) then null
            else b.mean_us / r.runtime_us
        end as trusted_speedup,
        coalesce(r.speedup, if(baseline is null, null, b.mean_us / r.runtime_us)) as claimed_speedup
    from filtered as r
    inner join run_status as s on r.run_id = s.run_id
    left join trusted as t on r.run_id = t.run_id
    left join reference_times as b
        on
            r.suite = b.suite
            and r.level = b.level
            and r.problem_name = b.problem_name
            and gpu_key(r.hardware) = b.gpu
    where
        s.attempted
        and not (exclude_infra and s.is_infra)
        and (
            precisions is null
            or list_contains(precisions, r.precision)
            or (trust = 'verified' and list_contains(precisions, t.reduced_to))
        )
)
select
    * exclude (trusted_speedup, blocks_speed),
    coalesce(
        case grouping
            when 'model' then model
            when 'mode' then mode
            when 'sweep' then sweep
            when 'level' then level::varchar
            when 'variant' then coalesce(variant, 'original')
            when 'suite' then suite
            when 'harness' then harness
            when 'hardware' then hardware
            when 'backend' then backend
            when 'problem' then problem_key
        end,
        '(unknown)'
    ) as key,
    if(counts_correct, trusted_speedup, null) as speedup,
    -- Claimed, and not counted here: a pass that does not rank, or a speedup that is not believed.
    claims_correct
    and (not counts_correct or (claimed_speedup is not null and trusted_speedup is null)) as withdrawn
from judged;
