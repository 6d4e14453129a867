-- purpose: the log or the model's context was cut
-- severity: info
-- blocks: nothing
-- threshold: none: the source says so itself
select
    run_id,
    'the log or the model''s context was cut: evidence may be missing' as message,
    null as value,
    null as threshold
from runs
where truncated
