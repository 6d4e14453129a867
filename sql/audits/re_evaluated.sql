-- purpose: the result was made after the run, by evaluating its kernel again
-- severity: info
-- blocks: nothing
-- threshold: none
select
    run_id,
    'the result comes from a later evaluation, not from the run''s own submission' as message,
    null as value,
    null as threshold
from run_outcomes
where re_evaluated
