-- purpose: what a model has after so many turns: the share of its runs that passed a check, and their best speedup so far
-- grain: model, turns_used
-- inputs: runs, linked_runs, turns, run_progress, turn_speedups
create or replace view anytime_curve as
with placed as (
    select run_id, turn, row_number() over (partition by run_id order by turn) as turns_used from turns
),
lengths as (
    select p.run_id, coalesce(r.model, r.model_raw, '(unknown)') as model, max(p.turns_used) as n_turns
    from placed as p
    inner join runs as r on p.run_id = r.run_id
    anti join linked_runs as l on p.run_id = l.run_id
    group by all
),
steps as (
    select model, unnest(range(1, max(n_turns) + 1)) as turns_used from lengths group by model
),
reached as (
    select p.run_id, p.turns_used, s.speedup
    from turn_speedups as s
    inner join placed as p on s.run_id = p.run_id and s.turn = p.turn
),
best_so_far as (
    select t.model, t.turns_used, l.run_id, max(b.speedup) as speedup
    from steps as t
    inner join lengths as l on t.model = l.model
    left join reached as b on l.run_id = b.run_id and t.turns_used >= b.turns_used
    group by all
)
select
    b.model,
    b.turns_used,
    count(*) as n_runs,
    count(*) filter (where p.turns_to_first_right <= b.turns_used) as n_passed,
    count(*) filter (where p.turns_to_first_right <= b.turns_used) / count(*) as share_passed,
    count(b.speedup) as n_timed,
    -- In one order: a sum of floats taken as threads deliver it differs in its last bit from build to build.
    exp(avg(ln(b.speedup) order by b.run_id)) as geomean_best_speedup
from best_so_far as b
left join run_progress as p on b.run_id = p.run_id
group by b.model, b.turns_used;
