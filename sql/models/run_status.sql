-- purpose: everything that decides about a run, gathered: outcome, findings, verifications, links
-- grain: run_id
-- inputs: runs, run_links, run_outcomes, run_verifications, audit_findings
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
        bool_or(refutes) as refuted,
        list(gpu_model order by gpu_model) filter (where ranks) as verified_on
    from run_verifications
    group by run_id
),
linked as (
    -- The other record of the same run ranks; where that one is gone, this one does.
    select l.linked_run_id as run_id, min(l.run_id) as richer_run_id
    from run_links as l
    semi join runs as r on l.run_id = r.run_id
    group by l.linked_run_id
)
select
    r.run_id,
    o.outcome,
    o.failure_class,
    o.owner,
    o.label_conflict,
    coalesce(r.correct, o.label in ('correct', 'pass', 'passed'), false) as claims_correct,
    o.outcome <> 'skipped' and k.run_id is null as attempted,
    k.richer_run_id,
    o.outcome <> 'correct' and coalesce(o.owner in ('infrastructure', 'harness'), false) as is_infra,
    coalesce(f.n_findings, 0) as n_findings,
    coalesce(f.n_serious, 0) > 0 as flagged,
    coalesce(f.codes, []) as codes,
    coalesce(v.ranks_anywhere, false) as verified,
    coalesce(v.refuted, false) as refuted,
    coalesce(v.verified_on, []) as verified_on,
    -- A ranking verification clears what blocked speed or correctness, save what re-running itself found.
    list_filter(
        coalesce(f.speed_codes, []), lambda code: not coalesce(v.ranks, false) or code = 'refuted_speed'
    ) as blocks_speed,
    list_filter(
        coalesce(f.correctness_codes, []),
        lambda code: not coalesce(v.ranks, false) or code in ('refuted', 'reference_differs')
    ) as blocks_correctness,
    coalesce(f.identity_codes, []) as blocks_identity,
    coalesce(v.ranks, false) as cleared
from runs as r
inner join run_outcomes as o on r.run_id = o.run_id
left join findings as f on r.run_id = f.run_id
left join verified as v on r.run_id = v.run_id
left join linked as k on r.run_id = k.run_id;
