-- purpose: the submitted kernel is the reference itself
-- severity: warning
-- blocks: nothing
-- threshold: equal sources
select
    r.run_id,
    'the submitted kernel is the reference''s own source' as message,
    null as value,
    null as threshold
from runs as r
semi join problems as p on r.submitted_kernel_sha256 = p.source_sha256
