-- purpose: what re-running a run's kernel said about the run, one row a GPU model
-- grain: run_id, gpu_model
-- inputs: runs, deciding_verifications, gpu_key
-- stored: yes
create or replace view run_verifications as
with matched as (
    select
        r.run_id,
        v.*,
        r.reference_sha256 is not null
        and v.reference_sha256 is not null
        and r.reference_sha256 <> v.reference_sha256 as reference_differs,
        r.hardware is not null and gpu_key(r.hardware) = gpu_key(v.gpu_model) as own_gpu
    from runs as r
    inner join deciding_verifications as v
        on
            r.submitted_kernel_sha256 = v.kernel_sha256
            and r.suite is not distinct from v.suite
            and r.level is not distinct from v.level
            and if(r.variant in ('original', 'default'), null, r.variant) is not distinct from v.variant
            and r.problem_name is not distinct from v.problem_name
            and coalesce(r.precision, 'fp32') = v.precision
    -- Two references of one problem are two questions: the run's own counts, else the newest result.
    qualify row_number() over (
        partition by r.run_id, v.gpu_model
        order by
            (r.reference_sha256 is not distinct from v.reference_sha256) desc,
            v.verified_at desc nulls last,
            v.verification_id asc
    ) = 1
)
select
    run_id,
    gpu_model,
    verification_id,
    verdict,
    kind,
    correctness,
    speed,
    gate,
    claimed_speedup,
    speedup,
    speedup_lo,
    speedup_hi,
    protocol,
    verified_at,
    reference_sha256,
    reference_differs,
    own_gpu,
    not reference_differs
    and verdict in ('CONFIRMED', 'CONFIRMED_FASTER', 'SLOWER_THAN_CLAIMED', 'NO_SPEEDUP', 'CONFIRMED_REDUCED') as ranks,
    -- The precision class a reduced confirmation is good for: it ranks on a board of that one only.
    if(verdict = 'CONFIRMED_REDUCED', lower(kind), null) as reduced_to,
    not reference_differs
    and (
        verdict in ('INCORRECT', 'HACK', 'FLAKY', 'IMPLAUSIBLE')
        or (own_gpu and verdict in ('SLOWER_THAN_CLAIMED', 'NO_SPEEDUP'))
    ) as refutes,
    -- What a refutation takes: a slower kernel is still a right one.
    case
        when reference_differs then null
        when verdict in ('INCORRECT', 'HACK', 'FLAKY') then 'correctness'
        when verdict = 'IMPLAUSIBLE' or (own_gpu and verdict in ('SLOWER_THAN_CLAIMED', 'NO_SPEEDUP')) then 'speed'
    end as refutes_what
from matched;
