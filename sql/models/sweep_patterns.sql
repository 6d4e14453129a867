-- purpose: failures that belong to a whole sweep and not to its kernels: one marker on 80 % of it, of a model's part of it, or on ten problems in a row
-- grain: suite, sweep, variant, model, failure_class
-- inputs: runs, linked_runs, run_outcomes, variant_key
create or replace view sweep_patterns as
with ended as (
    select
        r.run_id,
        r.suite,
        r.sweep,
        variant_key(r.variant) as variant,
        coalesce(r.model, r.model_raw, '(unknown)') as model,
        concat_ws('/', r.level, r.problem_id, r.problem_name) as problem,
        o.failure_class,
        o.owner,
        -- In the order in which harnesses go through a suite.
        row_number() over (
            partition by r.suite, r.sweep, variant_key(r.variant), coalesce(r.model, r.model_raw, '(unknown)')
            order by r.level, r.problem_id, r.problem_name, r.sample_id, r.run_id
        ) as place
    from runs as r
    inner join run_outcomes as o on r.run_id = o.run_id
    anti join linked_runs as l on r.run_id = l.run_id
    where o.outcome not in ('skipped', 'in_progress') and o.decided_by <> 'nothing'
),
sizes as (
    select suite, sweep, variant, model, count(*) as n_runs
    from ended
    group by all
),
-- What a model's kernels do wrong is no fault of the sweep, however often it does it: only what the
-- machinery does counts, and no answer holding code, a context that one kernel broke for the next, the
-- wrong architecture named for all, and a machine that fails in words which a kernel could have written.
islands as (
    select
        *,
        place - row_number() over (partition by suite, sweep, variant, model, failure_class order by place) as island
    from ended
    where
        owner in ('harness', 'infrastructure', 'provider')
        or failure_class in (
            'llm.no_code', 'cuda.illegal_address', 'cuda.no_kernel_image', 'cuda.device_fault', 'compile.architecture',
            'compile.toolchain', 'compile.killed'
        )
),
-- Of several models with few problems each the sweep as a whole tells.
wholes as (
    select i.suite, i.sweep, i.failure_class, count(*) as n, max(e.n_runs) as n_runs
    from islands as i
    inner join (
        select suite, sweep, count(*) as n_runs from ended where sweep is not null group by suite, sweep
    ) as e on i.suite = e.suite and i.sweep = e.sweep
    group by i.suite, i.sweep, i.failure_class
    having count(*) >= 0.8 * max(e.n_runs) and max(e.n_runs) >= 10
),
streaks as (
    select
        suite,
        sweep,
        variant,
        model,
        failure_class,
        island,
        count(*) as n,
        count(distinct problem) as streak,
        list(run_id order by place) as run_ids
    from islands
    group by all
)
select
    s.suite,
    s.sweep,
    s.variant,
    s.model,
    s.failure_class,
    sum(s.n)::bigint as n,
    z.n_runs,
    sum(s.n) / z.n_runs as share,
    max(s.streak) as longest_streak,
    -- Ten runs at least: four of five is no pattern.
    z.n_runs >= 10 and (sum(s.n) >= 0.8 * z.n_runs or max(s.streak) >= 10) or max(w.n) is not null as invalid,
    -- Of the sweep's runs with all models, where the class is on 80 % of those.
    max(w.n) as n_of_sweep,
    max(w.n_runs) as n_runs_of_sweep,
    -- The runs that the pattern speaks of: all of the class, or those in a row.
    flatten(
        if(
            sum(s.n) >= 0.8 * z.n_runs or max(w.n) is not null,
            list(s.run_ids order by s.island),
            list(s.run_ids order by s.island) filter (where s.streak >= 10)
        )
    ) as run_ids
from streaks as s
inner join sizes as z
    on
        s.suite = z.suite and s.sweep is not distinct from z.sweep
        and s.variant = z.variant and s.model = z.model
left join wholes as w
    on s.suite = w.suite and s.sweep = w.sweep and s.failure_class = w.failure_class
group by s.suite, s.sweep, s.variant, s.model, s.failure_class, z.n_runs;
