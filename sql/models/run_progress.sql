-- purpose: how many turns a run took to its first passing check and to its best speedup
-- grain: run_id
-- inputs: turns, turn_speedups, judged_passes
-- stored: yes
-- changes: run_id
create or replace view run_progress as
with passes as (
    select run_id, min(turn) as first_right_turn, count(*) as n_passes
    from judged_passes
    group by run_id
),
bests as (
    select run_id, min_by(turn, (-speedup, turn)) as best_turn, max(speedup) as best_speedup
    from turn_speedups
    group by run_id
),
counted as (
    -- Sources number turns from 0 or 1 and leave some out: what counts is how many there were.
    select
        t.run_id,
        count(*) filter (where t.turn <= p.first_right_turn) as turns_to_first_right,
        count(*) filter (where t.turn <= b.best_turn) as turns_to_best
    from turns as t
    inner join passes as p on t.run_id = p.run_id
    left join bests as b on t.run_id = b.run_id
    group by t.run_id
)
select
    p.run_id,
    p.n_passes,
    p.first_right_turn,
    b.best_turn,
    b.best_speedup,
    coalesce(nullif(c.turns_to_first_right, 0), p.first_right_turn + 1) as turns_to_first_right,
    if(b.best_turn is null, null, coalesce(nullif(c.turns_to_best, 0), b.best_turn + 1)) as turns_to_best
from passes as p
left join bests as b on p.run_id = b.run_id
left join counted as c on p.run_id = c.run_id;
