-- purpose: re-running the kernel showed that it is not right
-- severity: error
-- blocks: correctness
-- threshold: none: the verification's witness can be checked
-- needs: run_verifications
select
    run_id,
    printf('%s%s on %s%s', verdict, coalesce(':' || kind, ''), gpu_model, coalesce(' at gate ' || gate, '')) as message,
    speedup as value,
    null as threshold
from run_verifications
where refutes and refutes_what = 'correctness'
