-- purpose: a pass whose largest absolute and largest relative error both exceed what its precision allows
-- severity: info
-- blocks: nothing
-- doubts: error.max_abs, error.max_rel
-- threshold: 1e-4 for fp32, 1e-2 for fp16, bf16 and unknown, as KernelBench sets both tolerances; the two maxima may stand at different elements, hence no proof
-- needs: metrics(error.max_abs), metrics(error.max_rel)
with largest as (
    select
        run_id,
        max(value) filter (where name = 'error.max_abs') as max_abs,
        max(value) filter (where name = 'error.max_rel') as max_rel
    from metrics
    where name in ('error.max_abs', 'error.max_rel') and subject = 'candidate' and turn is null
    group by run_id
)
select
    l.run_id,
    printf('correct, with errors up to %.3g absolute and %.3g relative; %s allows %g', l.max_abs, l.max_rel, coalesce(r.precision, 'the loosest precision'), if(r.precision = 'fp32', 1e-4, 1e-2)) as message,
    l.max_abs as value,
    if(r.precision = 'fp32', 1e-4, 1e-2) as threshold
from largest as l
inner join runs as r on l.run_id = r.run_id
where r.correct and l.max_abs is not null and l.max_rel is not null and least(l.max_abs, l.max_rel) > if(r.precision = 'fp32', 1e-4, 1e-2)
