-- purpose: what re-running a run's kernel said about the run, one row a GPU model
-- grain: run_id, gpu_model
-- inputs: runs, run_problems, deciding_verifications, gpu_key
-- stored: yes
-- needs: verifications
create or replace view run_verifications as
with matched as (
    select
        r.run_id,
        v.* exclude (verdict),
        r.speedup as own_claim,
        r.hardware is not null and gpu_key(r.hardware) = gpu_key(v.gpu_model) as own_gpu,
        -- One kernel may stand in several runs, each with a claim of its own. What was measured holds for
        -- all of them; the word on a claim holds for that claim, and is found anew for another one made on
        -- the same GPU model, by the rule of docs/verification.md: 5 % around the claim, against the interval.
        case
            when v.verdict not in ('CONFIRMED', 'CONFIRMED_FASTER', 'SLOWER_THAN_CLAIMED', 'INCONCLUSIVE') then v.verdict
            when not own_gpu or r.speedup is null or v.speedup is null then v.verdict
            -- Measured is the speedup against eager; a claim against another baseline is another claim.
            when coalesce(r.baseline, 'eager') not ilike 'eager%' then v.verdict
            when v.verdict = 'INCONCLUSIVE' and (v.correctness <> 'passed' or v.speedup_lo is null) then v.verdict
            when abs(r.speedup - v.claimed_speedup) <= 0.01 * r.speedup then v.verdict
            when coalesce(v.speedup_lo, v.speedup) > 1.05 * r.speedup then 'CONFIRMED_FASTER'
            when
                coalesce(v.speedup_lo, v.speedup) >= 0.95 * r.speedup
                and (coalesce(v.speedup_lo, v.speedup) > 1.01 or r.speedup <= 1.01)
                then 'CONFIRMED'
            when coalesce(v.speedup_hi, v.speedup) < 0.95 * r.speedup then 'SLOWER_THAN_CLAIMED'
            else 'INCONCLUSIVE'
        end as verdict,
        r.reference_sha256 is not null
        and v.reference_sha256 is not null
        and r.reference_sha256 <> v.reference_sha256 as reference_differs
    from runs as r
    -- A run that names its problem by number alone, or leaves its variant to the other record of it.
    inner join run_problems as p on r.run_id = p.run_id
    inner join deciding_verifications as v
        on
            r.submitted_kernel_sha256 = v.kernel_sha256
            and p.suite is not distinct from v.suite
            and p.level is not distinct from v.level
            and p.variant = v.variant
            and (
                regexp_replace(p.problem_name, '\.py$', '') is not distinct from regexp_replace(v.problem_name, '\.py$', '')
                or (r.problem_name is null and v.problem_name is null)
            )
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
    coalesce(own_claim, claimed_speedup) as claimed_speedup,
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
    -- What was measured is no less than this run's own claim: only then does its speedup stand where a
    -- finding blocks it.
    not reference_differs
    and verdict in ('CONFIRMED', 'CONFIRMED_FASTER')
    and coalesce(coalesce(speedup_lo, speedup) >= 0.94 * own_claim, true) as confirms_claim,
    -- The precision class a reduced confirmation is good for: it ranks on a board of that one only.
    if(verdict = 'CONFIRMED_REDUCED', coalesce(lower(kind), '?'), null) as reduced_to,
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
