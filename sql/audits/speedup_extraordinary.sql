-- purpose: a pass with a speedup over 100x that nobody has confirmed
-- severity: error
-- blocks: speed
-- doubts: speedup
-- threshold: 100x: above what removing launch overhead and fusing gives; references written as Python loops reach it, so a verification that confirms this very claim clears it
select
    r.run_id,
    printf('speedup of %sx, and no verification of it', number_text(r.speedup, 0)) as message,
    r.speedup as value,
    100 as threshold
from runs as r
anti join (select run_id from run_verifications where confirms_claim) as v on r.run_id = v.run_id
where r.speedup > 100 and r.correct is distinct from false
