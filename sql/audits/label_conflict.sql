-- purpose: the source's label says otherwise than the run's own evidence
-- severity: error
-- blocks: correctness
-- threshold: none
select
    o.run_id,
    printf('labelled %s, evidence says %s', coalesce(o.label, if(r.correct, 'correct', 'not correct')), o.outcome) as message,
    null as value,
    null as threshold
from run_outcomes as o
inner join runs as r on o.run_id = r.run_id
where o.label_conflict
