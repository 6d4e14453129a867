-- purpose: how each run ended, derived from evidence; the source's label stands beside it. decided_by says which
--   evidence: label, submission, re_evaluation, feedback, work_item, final_result, no_submission, or nothing (no
--   source judged the run)
-- grain: run_id
-- inputs: runs, tool_calls, timeouts, tool_failures, classified_texts, failure_texts, failure_classes, judges_final_state, label_key, tool_role
-- stored: yes
create or replace view run_outcomes as
with submissions as (
    -- A real submission is a kernel handed in and judged: a call that the harness refused
    -- (budget used up, arguments no JSON) is none. Harnesses that judge what the agent leaves behind
    -- may have a tool of that name too; there it only ends the session.
    select t.run_id, t.turn, t.seq, t.ok
    from tool_calls as t
    inner join runs as r on t.run_id = r.run_id
    where
        tool_role(t.tool) = 'submit'
        and t.ok is not null
        and t.outcome is distinct from 'refused'
        and not judges_final_state(r.format)
    qualify row_number() over (partition by t.run_id order by t.turn desc, t.seq desc) = 1
),
-- Harnesses whose agents hand in by a tool: only there a run with calls and no submission handed in
-- nothing. Of a format that is not known here one submission anywhere tells.
submitting as (
    select distinct r.format, r.harness
    from submissions as s
    inner join runs as r on s.run_id = r.run_id
    union
    select distinct format, harness
    from runs
    where format in ('popcornbench', 'popcornbench_page', 'kernelbench_agentic')
),
called as (
    select run_id, count(*) as n_calls from tool_calls group by run_id
),
-- Words that a final result keeps of its failure, whether or not a rule knows them.
final_words as (
    select run_id, left(max(body), 400) as words
    from failure_texts
    where
        origin = 'final' and field = 'text'
        and regexp_matches(body, '(?m)^(?:(?:compilation|runtime|cuda|other|gpu)_error|error|error_message|correctness_issue): \S')
    group by run_id
),
-- The last turn's failing model call; an earlier one did not end the run.
call_failures as (
    select c.run_id, c.turn, c.failure_class, c.owner, c.outcome, c.evidence
    from classified_texts as c
    where c.origin = 'feedback'
    qualify row_number() over (partition by c.run_id order by c.turn desc) = 1
),
work_items as (
    select run_id, max(turn) as turn, any_value(message order by turn, seq, message) as message
    from timeouts
    where scope = 'work_item'
    group by run_id
),
-- The limit on the agent's whole session: sources call it `timeout` without a word on whose.
sessions as (
    select run_id, any_value(message order by turn, seq, message) as message
    from timeouts
    where scope = 'session'
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
            when label_key(r.source_outcome) in ('correct', 'pass', 'passed', 'success') then 'correct'
            else l.outcome
        end as label_outcome,
        if(l.failure_class = 'timeout.work_item' and e.run_id is not null, 'timeout.session', l.failure_class) as label_class,
        label_key(r.source_outcome) in ('in_progress', 'running') as in_progress,
        coalesce(l.outcome = 'skipped', false) as skipped,
        -- Without a tool to submit by, the run's own verdict decides, calls or not.
        c.n_calls is not null and h.format is not null as has_calls,
        h.format is null and r.n_turns = 0 as never_began,
        s.run_id is not null as submitted,
        s.turn as submit_turn,
        s.ok as submit_ok,
        t.failure_class as submit_class,
        t.outcome as submit_outcome,
        t.evidence as submit_evidence,
        -- An error of the GPU while the answer was still being generated is a kernel's that ran before.
        if(
            label_key(r.source_outcome) = 'generation_error' and f.failure_class like 'cuda.%',
            'infra.cascade_poisoned_context', f.failure_class
        ) as final_class,
        -- Which phase failed stands in the flags; a class alone cannot tell it, save that what
        -- CUDA reports was running.
        case
            when label_key(r.source_outcome) = 'generation_error' and f.failure_class like 'cuda.%' then 'infra_error'
            when f.failure_class like 'cuda.%' then f.outcome
            when f.outcome in ('compile_fail', 'runtime_fail') and r.compiled is not null
                then if(r.compiled, 'runtime_fail', 'compile_fail')
            else f.outcome
        end as final_outcome,
        f.evidence as final_evidence,
        if(f.run_id is null, k.words, null) as unnamed_words,
        m.failure_class as call_class,
        m.outcome as call_outcome,
        m.evidence as call_evidence,
        m.turn as call_turn,
        w.turn as work_item_turn,
        w.message as work_item_message,
        (r.runtime_us is not null or r.ref_runtime_us is not null) as measured,
        -- By key, never by text: the metadata also quotes compilers, and so the kernel's own words.
        coalesce(
            json_exists(r.extra, '$.re_eval')
            or len(list_filter(json_keys(r.extra, '$.metadata'), lambda k: starts_with(k, 're_eval'))) > 0,
            false
        ) as re_eval_named,
        f.outcome in ('incorrect', 'runtime_fail') as final_judged
    from runs as r
    left join called as c on r.run_id = c.run_id
    left join submissions as s on r.run_id = s.run_id
    left join tool_failures as t on s.run_id = t.run_id and s.turn = t.turn and s.seq = t.seq
    left join classified_texts as f on r.run_id = f.run_id and f.origin = 'final'
    left join classified_texts as l on r.run_id = l.run_id and l.origin = 'label'
    left join final_words as k on r.run_id = k.run_id
    left join call_failures as m on r.run_id = m.run_id
    left join work_items as w on r.run_id = w.run_id
    left join sessions as e on r.run_id = e.run_id
    left join submitting as h on r.format = h.format and r.harness is not distinct from h.harness
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
            when re_eval_named and (has_calls or says_correct is not null) then 're_evaluation'
            when call_class = 'infra.queue_poisoned' and work_item_turn is not null then 'work_item'
            when call_class is not null then 'feedback'
            when has_calls and work_item_turn is not null then 'work_item'
            when has_calls and says_correct and measured then 'final_result'
            when has_calls and final_class is not null then 'final_result'
            when has_calls then 'no_submission'
            when not coalesce(says_correct, false) and final_class is not null then 'final_result'
            when never_began and label is null and not coalesce(says_correct, false) then 'no_submission'
            when label is null and says_correct is null and says_compiled is null then 'nothing'
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
            -- A submission that failed by words that no rule knows: the label says how, if it says failed.
            when decided_by = 'submission' then coalesce(nullif(submit_outcome, 'unknown'), nullif(label_outcome, 'correct'), 'unknown')
            when decided_by in ('re_evaluation', 'final_result') and says_correct then 'correct'
            when decided_by in ('re_evaluation', 'final_result') then coalesce(
                final_outcome, label_outcome, if(says_compiled, 'incorrect', 'compile_fail')
            )
            when decided_by = 'feedback' then call_outcome
            when decided_by = 'work_item' then 'timeout'
            when decided_by = 'no_submission' then 'no_submission'
            -- Some labels name the stage at which something happened, not how it ended.
            when says_correct then 'correct'
            -- Labelled a pass, and its own flag denies it.
            when says_correct = false and label_outcome = 'correct' then if(says_compiled = false, 'compile_fail', 'incorrect')
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
            -- The label's class says that no text was kept; where one was, no rule knows it.
            when
                decided_by = 'label' and unnamed_words is not null and not coalesce(says_correct, false)
                and coalesce(label_outcome, 'incorrect') not in ('correct', 'in_progress', 'skipped', 'timeout')
                then 'unclassified'
            when decided_by = 'label' and label_class is not null then label_class
            when decided_by = 'label' and coalesce(label_outcome, 'correct') = 'correct' and says_correct = false
                then if(says_compiled = false, 'compile.no_text', 'incorrect.no_text')
            when decided_by = 'label' and label_outcome is null and says_compiled = false then 'compile.no_text'
        end as failure_class,
        case
            when decided_by = 'submission' then submit_evidence
            when decided_by in ('re_evaluation', 'final_result') then final_evidence
            when decided_by = 'feedback' then call_evidence
            when decided_by = 'work_item' then work_item_message
            when decided_by = 'label' and not coalesce(says_correct, false) then coalesce(unnamed_words, label)
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
    -- What the label means, whatever its case; NULL where it names no end. Nobody else reads labels.
    d.label_outcome,
    -- The label says otherwise. `error` is too coarse to disagree with anything but a pass, and
    -- `incorrect` covers a crash at run time.
    case
        -- Where only a label and a flag stand, they contradict each other.
        when d.decided_by = 'label'
            then coalesce(d.label_outcome in ('correct', 'incorrect', 'compile_fail', 'runtime_fail') and d.says_correct <> (d.label_outcome = 'correct'), false)
        when d.decided_by = 'nothing' or (d.says_correct and d.outcome = 'correct') then false
        when d.label_outcome is null then coalesce(d.says_correct, false) <> (d.outcome = 'correct') and d.says_correct is not null
        when d.label_outcome = 'correct' or d.outcome = 'correct' then d.label_outcome <> d.outcome
        when d.label_outcome in ('unknown', 'in_progress', 'skipped') then false
        when d.outcome = 'unknown' then false
        when d.label_outcome = 'incorrect' then d.outcome not in ('incorrect', 'runtime_fail')
        -- Compiled when first called: both words are right.
        when d.failure_class = 'compile.triton' and d.label_outcome = 'runtime_fail' then false
        else d.label_outcome <> d.outcome
    end as label_conflict
from derived as d
left join failure_classes as c on d.failure_class = c.class;
