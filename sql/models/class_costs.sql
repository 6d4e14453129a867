-- purpose: what each failure class costs: turns lost to it, and how often a run gets over it
-- grain: model, failure_class
-- inputs: runs, linked_runs, run_states
create or replace view class_costs as
with rights as (
    select run_id, turn from run_states where state in ('right', 'faster')
),
hits as (
    -- The next right turn of each, if any.
    select s.run_id, s.failure_class, s.turn, t.turn as right_turn
    from run_states as s
    asof left join rights as t on s.run_id = t.run_id and s.turn < t.turn
    where s.failure_class is not null
),
per_run as (
    select
        run_id,
        failure_class,
        count(*) as turns_lost,
        -- Recovered: a later turn passed. Turns are counted from the first time the class struck.
        max(right_turn) is not null as recovered,
        min(right_turn) - min(turn) as turns_to_recover
    from hits
    group by run_id, failure_class
)
select
    coalesce(r.model, r.model_raw, '(unknown)') as model,
    p.failure_class,
    sum(p.turns_lost)::bigint as turns_lost,
    count(*) as n_runs,
    count(*) filter (where p.recovered) as recovered,
    count(*) filter (where p.recovered) / count(*) as recovery_rate,
    median(p.turns_to_recover) filter (where p.recovered) as median_turns_to_recover
from per_run as p
inner join runs as r on p.run_id = r.run_id
anti join linked_runs as l on p.run_id = l.run_id
group by all;
