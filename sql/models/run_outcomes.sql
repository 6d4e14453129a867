-- purpose: how each run ended, derived from evidence; the source's label stands beside it
-- grain: run_id
-- inputs: runs, tool_calls, timeouts, tool_failures, classified_texts, failure_classes
-- stored: yes
create or replace view run_outcomes as
with submissions as (
    -- A real submission is a kernel handed in and judged: a call that the harness refused
    -- (budget used up, arguments no JSON) is none.
    select run_id, turn, seq, ok
    from tool_calls
    where tool in ('submit_kernel', 'submit', 'submit_solution') and ok is not null and outcome is distinct from 'refused'
    qualify row_number() over (partition by run_id order by turn desc, seq desc) = 1
),
called as (
    select run_id, count(*) as n_calls from tool_calls group by run_id
),
-- The last turn's failing model call; an earlier one did not end the run.
call_failures as (
    select c.run_id, c.turn, c.failure_class, c.owner, c.outcome, c.evidence
    from classified_texts as c
    where c.origin = 'feedback'
    qualify row_number() over (partition by c.run_id order by c.turn desc) = 1
),
work_items as (
    select run_id, max(turn) as turn, any_value(message) as message
    from timeouts
    where scope = 'work_item'
    group by run_id
),
facts as (
    select
        r.run_id,
        r.source_outcome as label,
        r.correct as says_correct,
        r.compiled as says_compiled,
        case
            when r.source_outcome is null then if(r.correct, 'correct', null)
            when lower(r.source_outcome) in ('correct', 'pass', 'passed', 'success') then 'correct'
            else l.outcome
        end as label_outcome,
        l.failure_class as label_class,
        l.owner as label_owner,
        r.source_outcome in ('in_progress', 'running') as in_progress,
        coalesce(l.outcome = 'skipped', false) as skipped,
        c.n_calls is not null as has_calls,
        s.run_id is not null as submitted,
        s.turn as submit_turn,
        s.ok as submit_ok,
        t.failure_class as submit_class,
        t.owner as submit_owner,
        t.outcome as submit_outcome,
        t.evidence as submit_evidence,
        f.failure_class as final_class,
        f.owner as final_owner,
        -- Which phase failed stands in the flags; a class alone cannot tell it, save that what
        -- CUDA reports was running.
        case
            when f.failure_class like 'cuda.%' then f.outcome
            when f.outcome in ('compile_fail', 'runtime_fail') and r.compiled is not null
                then if(r.compiled, 'runtime_fail', 'compile_fail')
            else f.outcome
        end as final_outcome,
        f.evidence as final_evidence,
        m.failure_class as call_class,
        m.owner as call_owner,
        m.outcome as call_outcome,
        m.evidence as call_evidence,
        m.turn as call_turn,
        w.turn as work_item_turn,
        w.message as work_item_message,
        (r.runtime_us is not null or r.ref_runtime_us is not null) as measured,
        contains(coalesce(r.extra::varchar, ''), '"re_eval') as re_eval_named,
        f.outcome in ('incorrect', 'runtime_fail') as final_judged
    from runs as r
    left join called as c on r.run_id = c.run_id
    left join submissions as s on r.run_id = s.run_id
    left join tool_failures as t on s.run_id = t.run_id and s.turn = t.turn and s.seq = t.seq
    left join classified_texts as f on r.run_id = f.run_id and f.origin = 'final'
    left join classified_texts as l on r.run_id = l.run_id and l.origin = 'label'
    left join call_failures as m on r.run_id = m.run_id
    left join work_items as w on r.run_id = w.run_id
),
-- What decides. A later re-evaluation beats the submission: the source names one, or the final
-- result holds a measurement or a judgement of values that a submission which ran out of time
-- cannot have made. A pass in mid-run decides nothing.
decided as (
    select
        *,
        case
            when in_progress then 'label'
            when skipped then 'label'
            when
                submitted and (
                    re_eval_named
                    or (not submit_ok and submit_outcome in ('timeout', 'infra_error') and (measured or final_judged))
                )
                then 're_evaluation'
            when submitted then 'submission'
            when has_calls and re_eval_named then 're_evaluation'
            when call_class = 'infra.queue_poisoned' and work_item_turn is not null then 'work_item'
            when call_class is not null then 'feedback'
            when has_calls and work_item_turn is not null then 'work_item'
            when has_calls and says_correct and measured then 'final_result'
            when has_calls and final_class is not null then 'final_result'
            when has_calls then 'no_submission'
            when not coalesce(says_correct, false) and final_class is not null then 'final_result'
            else 'label'
        end as decided_by
    from facts
),
derived as (
    select
        run_id,
        label,
        label_outcome,
        says_correct,
        decided_by,
        case
            when decided_by in ('submission', 're_evaluation') then submit_turn
            when decided_by = 'feedback' then call_turn
            when decided_by = 'work_item' then work_item_turn
        end as decided_turn,
        case
            when decided_by = 'label' and in_progress then 'in_progress'
            when decided_by = 'label' and skipped then 'skipped'
            when decided_by = 'submission' and submit_ok then 'correct'
            when decided_by = 'submission' then coalesce(submit_outcome, 'unknown')
            when decided_by in ('re_evaluation', 'final_result') and says_correct then 'correct'
            when decided_by in ('re_evaluation', 'final_result') then coalesce(
                final_outcome, label_outcome, if(says_compiled, 'incorrect', 'compile_fail')
            )
            when decided_by = 'feedback' then call_outcome
            when decided_by = 'work_item' then 'timeout'
            when decided_by = 'no_submission' then 'no_submission'
            when label_outcome is not null then label_outcome
            when says_compiled = false then 'compile_fail'
            when says_correct = false then 'incorrect'
            else 'unknown'
        end as outcome,
        case
            when decided_by = 'submission' and not submit_ok then coalesce(submit_class, 'unclassified')
            when decided_by in ('re_evaluation', 'final_result') and not coalesce(says_correct, false)
                then coalesce(final_class, label_class, 'unclassified')
            when decided_by = 'feedback' then call_class
            when decided_by = 'work_item' then 'timeout.work_item'
            when decided_by = 'no_submission' then 'llm.no_submission'
            when decided_by = 'label' and label_class is not null then label_class
            when decided_by = 'label' and label_outcome is null and says_compiled = false then 'compile.no_text'
            when decided_by = 'label' and label_outcome is null and says_correct = false then 'incorrect.no_text'
        end as failure_class,
        case
            when decided_by = 'submission' then submit_evidence
            when decided_by in ('re_evaluation', 'final_result') then final_evidence
            when decided_by = 'feedback' then call_evidence
            when decided_by = 'work_item' then work_item_message
            when decided_by = 'label' then label
        end as evidence
    from decided
)
select
    d.run_id,
    d.outcome,
    if(d.outcome = 'correct', null, d.failure_class) as failure_class,
    if(d.outcome = 'correct', null, c.owner) as owner,
    d.evidence,
    d.decided_by,
    d.decided_turn,
    d.decided_by = 're_evaluation' as re_evaluated,
    d.label,
    -- The label says otherwise. `error` is too coarse to disagree with anything but a pass, and
    -- `incorrect` covers a crash at run time.
    case
        when d.decided_by = 'label' then false
        when d.label_outcome is null then coalesce(d.says_correct, false) <> (d.outcome = 'correct') and d.says_correct is not null
        when d.label_outcome = 'correct' or d.outcome = 'correct' then d.label_outcome <> d.outcome
        when d.label_outcome in ('unknown', 'in_progress', 'skipped') then false
        when d.label_outcome = 'incorrect' then d.outcome not in ('incorrect', 'runtime_fail')
        when d.outcome = 'unknown' then false
        else d.label_outcome <> d.outcome
    end as label_conflict
from derived as d
left join failure_classes as c on d.failure_class = c.class;
