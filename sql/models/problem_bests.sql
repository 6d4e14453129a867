-- purpose: the fastest run of each model at each problem, at each level of trust
-- grain: trust, verified_on, suite, level, variant, problem_id, problem_name, model
-- inputs: runs, run_problems, run_status, run_trust
create or replace view problem_bests as
select
    t.trust,
    t.verified_on,
    p.suite,
    p.level,
    p.variant,
    p.problem_id,
    p.problem_name,
    coalesce(r.model, r.model_raw, '(unknown)') as model,
    count(*) as n,
    count(*) filter (where t.counts_correct) as correct,
    max(t.speedup) as best_speedup,
    max_by(r.run_id, t.speedup) as best_run_id,
    max_by(r.submitted_kernel_sha256, t.speedup) as best_kernel_sha256
from run_trust as t
inner join runs as r on t.run_id = r.run_id
inner join run_problems as p on t.run_id = p.run_id
inner join run_status as s on t.run_id = s.run_id
where s.attempted and t.reduced_to is null
group by all;
