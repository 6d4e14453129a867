-- purpose: correct, and never timed
-- severity: warning
-- blocks: speed
-- threshold: none
select
    r.run_id,
    'correct, with neither a runtime nor a speedup' as message,
    null as value,
    null as threshold
from runs as r
where r.correct and r.runtime_us is null and r.speedup is null
