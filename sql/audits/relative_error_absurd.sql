-- purpose: a pass with a largest relative error that says nothing any more
-- severity: info
-- blocks: nothing
-- doubts: error.max_rel
-- threshold: 1000: values near zero reach it lawfully, so the number doubts the measure, not the kernel
-- needs: metrics(error.max_rel)
select
    m.run_id,
    printf('correct, with a largest relative error of %.3g', max(m.value)) as message,
    max(m.value) as value,
    1000 as threshold
from metrics as m
inner join runs as r on m.run_id = r.run_id
where m.name = 'error.max_rel' and m.subject = 'candidate' and m.turn is null and r.correct and m.value > 1000
group by m.run_id
