-- purpose: the runs of a board after its filters, with what counts at the level of trust asked for
-- grain: run_id
-- inputs: runs, run_problems, run_status, run_trust, run_verifications, baselines, gpu_key, variant_key
-- parameters: `grouping` names what `key` holds: model, mode, sweep, level, variant, suite, harness, hardware,
--   backend or problem. Each list NULL means no filter. trust is claimed, audited or verified. verified_on names
--   the GPU model of a verified board; NULL takes the one with the most ranking results, so that two
--   are never pooled. baseline NULL takes the source's speedup, else speedups against that baseline. attempted_only :=
--   false also returns the records that are no attempt, with `left_out` saying why.
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
    exclude_infra := false,
    attempted_only := true
) as table
with filtered as (
    select
        r.* exclude (variant, problem_id, problem_name),
        p.variant,
        p.problem_id,
        p.problem_name,
        p.problem_key,
        r.problem_name is null as nameless
    from runs as r
    inner join run_problems as p on r.run_id = p.run_id
    where
        (levels is null or list_contains(levels, r.level))
        and (variants is null or list_contains(list_transform(variants, lambda v: variant_key(v)), p.variant))
        and (suites is null or list_contains(suites, r.suite))
        and (sweeps is null or list_contains(sweeps, r.sweep))
        and (modes is null or list_contains(modes, r.mode))
        and (models is null or list_contains(models, r.model) or list_contains(models, r.model_raw))
        and (hardwares is null or list_has_any(list_transform(hardwares, lambda h: upper(h)), [upper(r.hardware), gpu_key(r.hardware)]))
        and (backends is null or list_contains(backends, r.backend))
),
chosen_gpu as (
    -- Where nothing ranks on any, the one with the most results: its refusals are the reasons.
    select
        coalesce(
            verified_on,
            mode(t.verified_on order by t.verified_on) filter (
                where t.counts_correct and (t.reduced_to is null or precisions = [t.reduced_to])
            ),
            mode(t.verified_on order by t.verified_on)
        ) as gpu_model
    from run_trust as t
    semi join filtered as r on t.run_id = r.run_id
    where t.trust = 'verified' and t.verified_on is not null
),
trusted as (
    select t.*
    from run_trust as t
    where
        t.trust = trust
        and (trust <> 'verified' or t.verified_on is null or t.verified_on = (select c.gpu_model from chosen_gpu as c))
),
-- One reference timing of that GPU, problem and baseline; two eras of problem sizes are no answer.
reference_times as (
    select b.suite, b.level, regexp_replace(b.problem_name, '\.py$', '') as problem_name, gpu_key(b.hardware) as gpu, max(b.mean_us) as mean_us
    from baselines as b
    where b.baseline = baseline
    group by b.suite, b.level, regexp_replace(b.problem_name, '\.py$', ''), gpu_key(b.hardware)
    having count(distinct b.mean_us) = 1
),
-- For runs that bring a problem's number and no name: the number in front of the baseline's name. A name
-- with two timings stays in the count: the other name of its number is another era's.
numbered_times as (
    select
        b.suite, b.level, try_cast(regexp_extract(b.problem_name, '^(\d+)_', 1) as bigint) as problem_id, gpu_key(b.hardware) as gpu,
        max(b.mean_us) as mean_us
    from baselines as b
    where b.baseline = baseline
    group by b.suite, b.level, try_cast(regexp_extract(b.problem_name, '^(\d+)_', 1) as bigint), gpu_key(b.hardware)
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
        r.problem_key,
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
        s.left_out,
        s.noise_band,
        s.sol_share,
        s.turns_to_first_right,
        s.turns_to_best,
        s.flagged,
        s.verified,
        s.refuted,
        s.codes,
        s.blocks_speed,
        t.verified_on,
        v.speedup_lo as measured_lo,
        v.speedup_hi as measured_hi,
        -- Re-run on another GPU model only: not re-run as far as this board goes.
        case
            when trust = 'verified' and t.run_id is null then 'not_verified'
            when t.reduced_to is null or precisions is distinct from [t.reduced_to] then t.reason
            else nullif(t.reason, 'reduced_precision')
        end as reason,
        coalesce(t.counts_correct and (t.reduced_to is null or precisions = [t.reduced_to]), false) as counts_correct,
        case
            when baseline is null or trust = 'verified' or (r.baseline = baseline and r.speedup is not null) then t.speedup
            when not t.counts_correct or (trust <> 'claimed' and len(s.blocks_speed) > 0) then null
            -- What no source claims, no audit has seen: an extraordinary one does not count there either.
            when trust = 'audited' and coalesce(s.speedups_vs[baseline], coalesce(b.mean_us, m.mean_us) / r.runtime_us) > 100 then null
            -- One against nothing named is taken for one against eager, where no timing gives another.
            else coalesce(
                s.speedups_vs[baseline],
                coalesce(b.mean_us, m.mean_us) / r.runtime_us,
                if(r.baseline is null and baseline = 'eager', t.speedup, null)
            )
        end as trusted_speedup,
        if(
            baseline is null or (r.baseline = baseline and r.speedup is not null),
            r.speedup,
            coalesce(
                s.speedups_vs[baseline],
                coalesce(b.mean_us, m.mean_us) / r.runtime_us,
                if(r.baseline is null and baseline = 'eager', r.speedup, null)
            )
        ) as claimed_speedup
    from filtered as r
    inner join run_status as s on r.run_id = s.run_id
    left join trusted as t on r.run_id = t.run_id
    left join run_verifications as v on trust = 'verified' and r.run_id = v.run_id and t.verified_on = v.gpu_model
    left join reference_times as b
        on
            r.suite = b.suite
            and r.level = b.level
            and regexp_replace(r.problem_name, '\.py$', '') = b.problem_name
            and gpu_key(r.hardware) = b.gpu
            -- Timings name no variant: they are of the level's own problems.
            and variant_key(r.variant) = 'original'
    left join numbered_times as m
        on
            r.nameless
            and r.suite = m.suite
            and r.level = m.level
            and r.problem_id = m.problem_id
            and gpu_key(r.hardware) = m.gpu
            and variant_key(r.variant) = 'original'
    where
        (s.attempted or not attempted_only)
        and not (exclude_infra and s.is_infra)
        and (
            precisions is null
            or list_contains(precisions, r.precision)
            or (trust = 'verified' and list_contains(precisions, t.reduced_to))
        )
)
select
    * exclude (trusted_speedup, blocks_speed, measured_lo, measured_hi),
    coalesce(
        case grouping
            when 'model' then model
            when 'mode' then mode
            when 'sweep' then sweep
            when 'level' then level::varchar
            when 'variant' then variant
            when 'suite' then suite
            when 'harness' then harness
            when 'hardware' then hardware
            when 'backend' then backend
            when 'problem' then problem_key
        end,
        '(unknown)'
    ) as key,
    -- A quotient that overflows or that a reference of no time gives is no speedup.
    if(counts_correct and trusted_speedup > 0 and isfinite(trusted_speedup), trusted_speedup, null) as speedup,
    -- Within the noise of its own timing: no measurable change, on whichever side of 1.0 it fell.
    -- A re-run brings an interval of its own.
    coalesce(
        counts_correct and trusted_speedup > 0 and isfinite(trusted_speedup)
        and if(measured_hi is null, abs(trusted_speedup - 1) <= noise_band + 1e-9, measured_lo <= 1 and measured_hi >= 1),
        false
    ) as near_tie,
    -- Claimed, and not counted here: a pass that does not rank, or a speedup that is not believed.
    claims_correct
    and (not counts_correct or (claimed_speedup is not null and trusted_speedup is null)) as withdrawn
from judged;
