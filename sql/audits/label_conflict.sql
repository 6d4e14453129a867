-- purpose: the source's label says otherwise than the run's own evidence
-- severity: error
-- blocks: correctness
-- threshold: none
select
    o.run_id,
    printf(
        'labelled %s, %s says %s',
        coalesce(o.label, if(r.correct, 'correct', 'not correct')), if(o.decided_by = 'label', 'its own flag', 'evidence'), o.outcome
    ) as message,
    null as value,
    null as threshold
from run_outcomes as o
inner join runs as r on o.run_id = r.run_id
where o.label_conflict
