-- purpose: a pass with an absolute error that no tolerance allows
-- severity: warning
-- blocks: nothing
-- doubts: error.max_abs
-- threshold: 1.0: a hundred times the loosest tolerance in use (1e-2 absolute); large outputs reach it lawfully
-- needs: metrics(error.max_abs)
select
    m.run_id,
    printf('correct, with a largest absolute error of %.3g', max(m.value)) as message,
    max(m.value) as value,
    1.0 as threshold
from metrics as m
inner join runs as r on m.run_id = r.run_id
where m.name = 'error.max_abs' and m.subject = 'candidate' and m.turn is null and r.correct and m.value > 1
group by m.run_id
