-- purpose: the speed-of-light score is computed from the speedup, not measured
-- severity: info
-- blocks: nothing
-- doubts: sol.score
-- threshold: none: the source says so itself
-- needs: metrics(sol.score)
select
    run_id,
    printf('speed-of-light score %s comes from a heuristic; do not compare it with measured ones', number_text(max(value), 2)) as message,
    max(value) as value,
    null as threshold
from metrics
where name = 'sol.score' and source = 'heuristic'
group by run_id
