-- purpose: the source says correct, and the last kernel handed in failed
-- severity: error
-- blocks: correctness
-- threshold: none
select
    o.run_id,
    printf('labelled correct, but the last submission ended as %s: %s', o.outcome, left(coalesce(o.evidence, ''), 160)) as message,
    null as value,
    null as threshold
from run_outcomes as o
inner join runs as r on o.run_id = r.run_id
where o.decided_by = 'submission' and o.outcome <> 'correct' and (r.correct or o.label_outcome = 'correct')
