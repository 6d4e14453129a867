-- purpose: speedups measured in mid-run: of a turn's own timings, and of the whole run at its last passing turn
-- grain: run_id, turn
-- inputs: runs, metrics, judged_passes
create or replace view turn_speedups as
with timed as (
    select c.run_id, c.turn, max(f.value / c.value) as speedup
    from metrics as c
    inner join metrics as f
        on
            c.run_id = f.run_id and c.turn = f.turn and c.seq is not distinct from f.seq
            and f.name = 'runtime.mean' and f.subject = 'reference'
    where c.name = 'runtime.mean' and c.subject = 'candidate' and c.turn is not null and c.value > 0 and f.value > 0
    group by c.run_id, c.turn
),
-- Sources time what was handed in; a passing check of an earlier turn has no time of its own.
last_pass as (
    select run_id, max(turn) as turn
    from judged_passes
    group by run_id
)
select run_id, turn, speedup
from timed
union all
select p.run_id, p.turn, r.speedup
from last_pass as p
inner join runs as r on p.run_id = r.run_id
anti join timed as t on p.run_id = t.run_id and p.turn = t.turn
where r.speedup > 0 and r.correct;
