-- purpose: everything that decides about a run, gathered: outcome, findings, verifications, links
-- grain: run_id
-- inputs: runs, linked_runs, run_outcomes, run_verifications, run_noise, run_progress, metrics, audit_findings
-- stored: yes
create or replace view run_status as
with findings as (
    select
        run_id,
        count(*) as n_findings,
        count(*) filter (where severity in ('warning', 'error')) as n_serious,
        list(distinct code order by code) as codes,
        list(distinct code order by code) filter (where blocks = 'speed') as speed_codes,
        list(distinct code order by code) filter (where blocks = 'correctness') as correctness_codes,
        list(distinct code order by code) filter (where blocks = 'identity') as identity_codes
    from audit_findings
    where run_id is not null
    group by run_id
),
verified as (
    select
        run_id,
        bool_or(ranks and reduced_to is null) as ranks,
        bool_or(ranks) as ranks_anywhere,
        bool_or(confirms_claim) as confirms_claim,
        bool_or(refutes) as refuted,
        list(gpu_model order by gpu_model) filter (where ranks) as verified_on
    from run_verifications
    group by run_id
),
-- What the boards show of a run beside its speedup: its share of the speed of light, where somebody
-- measured it, and its speedup against other baselines.
measured as (
    select
        run_id,
        max(value) filter (where name in ('sol.score', 'roofline.fraction') and source <> 'heuristic') as sol_share,
        map_from_entries(
            list({ 'k': name[12:], 'v': value } order by name) filter (where name like 'speedup.vs\_%' escape '\')
        ) as speedups_vs
    from (
        select run_id, name, any_value(source order by source) as source, max(value) as value
        from metrics
        where turn is null and (name in ('sol.score', 'roofline.fraction') or name like 'speedup.vs\_%' escape '\')
        group by run_id, name
    )
    group by run_id
)
select
    r.run_id,
    o.outcome,
    o.failure_class,
    o.owner,
    o.label_conflict,
    -- A source that gives no verdict claims what its own harness's answer says.
    coalesce(r.correct, o.label_outcome = 'correct', o.outcome = 'correct', false) as claims_correct,
    -- Why a record is no attempt: nothing was tried, the same run stands in a richer record, or no
    -- source judged it, so that it is neither right nor wrong.
    case
        when o.outcome = 'skipped' then 'skipped'
        when k.run_id is not null then 'linked'
        when o.decided_by = 'nothing' and not coalesce(v.ranks_anywhere or v.refuted, false) then 'not_judged'
    end as left_out,
    left_out is null as attempted,
    k.richer_run_id,
    o.outcome <> 'correct' and coalesce(o.owner in ('infrastructure', 'harness'), false) as is_infra,
    coalesce(f.n_findings, 0) as n_findings,
    coalesce(f.n_serious, 0) > 0 as flagged,
    coalesce(f.codes, []) as codes,
    coalesce(v.ranks_anywhere, false) as verified,
    coalesce(v.refuted, false) as refuted,
    coalesce(v.verified_on, []) as verified_on,
    -- A ranking verification clears what blocked correctness, and one that confirms this run's own claim
    -- what blocked speed, save what re-running itself found.
    list_filter(
        coalesce(f.speed_codes, []), lambda code: not coalesce(v.ranks and v.confirms_claim, false) or code = 'refuted_speed'
    ) as blocks_speed,
    list_filter(
        coalesce(f.correctness_codes, []),
        lambda code: not coalesce(v.ranks, false) or code in ('refuted', 'reference_differs')
    ) as blocks_correctness,
    coalesce(f.identity_codes, []) as blocks_identity,
    coalesce(v.ranks, false) as cleared,
    coalesce(n.noise_band, 0.02) as noise_band,
    m.sol_share,
    m.speedups_vs,
    p.turns_to_first_right,
    p.turns_to_best
from runs as r
inner join run_outcomes as o on r.run_id = o.run_id
left join findings as f on r.run_id = f.run_id
left join verified as v on r.run_id = v.run_id
left join linked_runs as k on r.run_id = k.run_id
left join run_noise as n on r.run_id = n.run_id
left join run_progress as p on r.run_id = p.run_id
left join measured as m on r.run_id = m.run_id;
