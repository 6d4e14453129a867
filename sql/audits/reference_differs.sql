-- purpose: the run was judged against another reference than the suite's
-- severity: error
-- blocks: correctness
-- threshold: none: hashes of the two sources
-- needs: run_verifications
select
    v.run_id,
    printf(
        'judged against reference %s, verified on %s against %s',
        left(r.reference_sha256, 12), v.gpu_model, left(v.reference_sha256, 12)
    ) as message,
    null as value,
    null as threshold
from run_verifications as v
inner join runs as r on v.run_id = r.run_id
where v.reference_differs
