-- purpose: a time-out that the source files as a compile failure
-- severity: warning
-- blocks: nothing
-- threshold: none
select
    o.run_id,
    printf('labelled %s, but the evaluation ran out of time: %s', coalesce(o.label, 'not compiled'), left(coalesce(o.evidence, ''), 160)) as message,
    null as value,
    null as threshold
from run_outcomes as o
inner join runs as r on o.run_id = r.run_id
where o.outcome = 'timeout' and (o.label_outcome = 'compile_fail' or (o.label is null and r.compiled = false))
