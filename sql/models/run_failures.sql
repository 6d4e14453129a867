-- purpose: why each failed run failed: class, owner, the words that decided and where they stand
-- grain: run_id
-- inputs: runs, run_outcomes, failure_classes, tool_failures, classified_texts, tool_role
create or replace view run_failures as
with decisive as (
    select run_id, turn, seq, rule, evidence_start, evidence_end
    from tool_failures
    -- The call that decided; the turn may hold others that failed behind it.
    where tool_role(tool) = 'submit'
    qualify row_number() over (partition by run_id, turn order by seq desc) = 1
),
other as (
    select run_id, turn, origin, rule, evidence_start, evidence_end
    from classified_texts
    where origin in ('final', 'feedback', 'label')
)
select
    o.run_id,
    o.outcome,
    coalesce(o.failure_class, 'unclassified') as failure_class,
    c.title,
    o.owner,
    o.decided_by,
    o.decided_turn as turn,
    d.seq,
    o.evidence,
    coalesce(d.rule, x.rule) as rule,
    -- Characters from 0 in the text that decided: the tool's answer, the final result's error texts,
    -- the feedback or the label.
    coalesce(d.evidence_start, x.evidence_start) as evidence_start,
    coalesce(d.evidence_end, x.evidence_end) as evidence_end,
    r.suite,
    r.sweep,
    r.model,
    r.level,
    r.problem_id,
    r.problem_name
from run_outcomes as o
inner join runs as r on o.run_id = r.run_id
left join failure_classes as c on o.failure_class = c.class
left join decisive as d on o.run_id = d.run_id and o.decided_turn = d.turn and o.decided_by = 'submission'
left join other as x
    on
        o.run_id = x.run_id
        and case o.decided_by
            when 'final_result' then 'final'
            when 're_evaluation' then 'final'
            when 'feedback' then 'feedback'
            when 'label' then 'label'
        end = x.origin
        and (o.decided_by <> 'feedback' or o.decided_turn = x.turn)
where o.outcome not in ('correct', 'skipped') and o.decided_by <> 'nothing';
