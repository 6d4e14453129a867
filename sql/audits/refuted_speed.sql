-- purpose: re-running the kernel showed that it is not as fast as claimed
-- severity: error
-- blocks: speed
-- doubts: speedup
-- threshold: the claim; measured on the claim's own GPU model
-- needs: run_verifications
select
    run_id,
    printf(
        '%s: measured %s on %s, claimed %s',
        verdict,
        coalesce(number_text(speedup, 2) || 'x', 'no speedup'),
        gpu_model,
        coalesce(number_text(claimed_speedup, 2) || 'x', 'a speedup')
    ) as message,
    speedup as value,
    claimed_speedup as threshold
from run_verifications
where refutes and refutes_what = 'speed'
