-- purpose: a pass with a speedup over 10x: plausible only against a reference that leaves much to gain
-- severity: info
-- blocks: nothing
-- doubts: speedup
-- threshold: 10x: where the harnesses of this family warn of an excessive speedup
select
    run_id,
    printf('speedup of %sx: read the reference before quoting it', number_text(speedup, 1)) as message,
    speedup as value,
    10 as threshold
from runs
where speedup > 10 and correct is distinct from false
