-- purpose: what ranks at each level of trust, and why the rest does not. No other file decides this
-- grain: run_id, trust, verified_on
-- inputs: runs, run_status, run_verifications
-- stored: yes
create or replace view run_trust as
with claimed as (
    select
        s.run_id,
        'claimed' as trust,
        null::varchar as verified_on,
        null::varchar as reduced_to,
        s.claims_correct as counts_correct,
        if(s.claims_correct, r.speedup, null) as speedup,
        null::varchar as reason
    from run_status as s
    inner join runs as r on s.run_id = r.run_id
),
audited as (
    select
        s.run_id,
        'audited' as trust,
        null::varchar as verified_on,
        null::varchar as reduced_to,
        (s.outcome = 'correct' or s.cleared)
        and s.claims_correct
        and len(s.blocks_correctness) = 0
        and len(s.blocks_identity) = 0 as counts_correct,
        if(len(s.blocks_speed) = 0, r.speedup, null) as fast_speedup,
        case
            when len(s.blocks_identity) > 0 then s.blocks_identity[1]
            when len(s.blocks_correctness) > 0 then s.blocks_correctness[1]
            when (s.outcome = 'correct') <> s.claims_correct and not s.cleared then 'label_conflict'
            when len(s.blocks_speed) > 0 then s.blocks_speed[1]
        end as reason
    from run_status as s
    inner join runs as r on s.run_id = r.run_id
),
verified as (
    select
        s.run_id,
        'verified' as trust,
        v.gpu_model as verified_on,
        v.reduced_to,
        coalesce(v.ranks, false) and len(s.blocks_identity) = 0 as counts_correct,
        -- Measured on that GPU, never the claim. No speedup found: at most 1.0 enters a mean.
        if(v.verdict = 'NO_SPEEDUP', least(v.speedup, 1.0), v.speedup) as fast_speedup,
        case
            when len(s.blocks_identity) > 0 then s.blocks_identity[1]
            when v.run_id is null then 'not_verified'
            when v.reference_differs then 'reference_differs'
            when not v.ranks then lower(v.verdict)
            when v.reduced_to is not null then 'reduced_precision'
        end as reason
    from run_status as s
    left join run_verifications as v on s.run_id = v.run_id
)
select run_id, trust, verified_on, reduced_to, counts_correct, speedup, reason
from claimed
union all by name
select run_id, trust, verified_on, reduced_to, counts_correct, if(counts_correct, fast_speedup, null) as speedup, reason
from audited
union all by name
select run_id, trust, verified_on, reduced_to, counts_correct, if(counts_correct, fast_speedup, null) as speedup, reason
from verified;
