-- purpose: of several results for one kernel against one reference on one GPU model, the one that counts
-- grain: kernel_sha256, suite, level, variant, problem_name, precision, reference_sha256, gpu_model
-- inputs: verifications, undecided_because, variant_key, version_order
create or replace view deciding_verifications as
select
    verification_id,
    kernel_sha256,
    suite,
    level,
    variant_key(variant) as variant,
    problem_name,
    coalesce(precision, 'fp32') as precision,
    reference_sha256,
    gpu_model,
    split_part(verdict, ':', 1) as verdict,
    coalesce(kind, nullif(split_part(verdict, ':', 2), '')) as kind,
    correctness,
    speed,
    gate,
    claimed_speedup,
    speedup,
    speedup_lo,
    speedup_hi,
    protocol,
    verified_at,
    count(*) over same_question as n_results
from verifications
where undecided_because(verdict, device, gpu_model, sandbox_ok, speedup, speedup_lo, speedup_hi) is null
window same_question as (
    partition by
        kernel_sha256, suite, level, variant_key(variant),
        problem_name, coalesce(precision, 'fp32'), reference_sha256, gpu_model
)
-- A witnessed refusal wins: anybody can check it. A session that could not judge at all says nothing. Else the newest
-- protocol, in it a session that decided before one that could not, then the newest date.
qualify row_number() over (
    partition by
        kernel_sha256, suite, level, variant_key(variant),
        problem_name, coalesce(precision, 'fp32'), reference_sha256, gpu_model
    order by
        (split_part(verdict, ':', 1) in ('INCORRECT', 'HACK') and witness is not null) desc,
        (split_part(verdict, ':', 1) = 'UNVERIFIABLE') asc,
        version_order(protocol) desc,
        (split_part(verdict, ':', 1) = 'INCONCLUSIVE') asc,
        verified_at desc nulls last,
        verification_id asc
) = 1;
