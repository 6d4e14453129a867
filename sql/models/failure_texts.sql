-- purpose: every text that may tell why something failed, one row a field a rule can look at
-- grain: run_id, turn, seq, origin, field, body. `base` is where the body begins in the whole text, in characters from 0
-- inputs: runs, turns, tool_calls, harness_prefix, error_line, label_key
create or replace view failure_texts as
with tool_texts as (
    select run_id, turn, seq, result_text as body, metadata ->> '$.error' as code
    from tool_calls
    where ok = false
),
-- A final result's own words: harnesses that keep no tool calls leave only these. The key names
-- which phase failed, so it stays in front of its text.
finals as (
    select
        r.run_id,
        coalesce(r.extra -> '$.metadata', r.extra -> '$.final_result.metadata', r.extra -> '$.eval_result.metadata') as m,
        r.extra as x
    from runs as r
    where r.extra is not null
),
final_texts as (
    select
        run_id,
        m ->> '$.error' as code,
        nullif(concat_ws(
            chr(10),
            'correctness_trials: ' || (m ->> '$.correctness_trials'),
            'correctness_issue: ' || (m ->> '$.correctness_issue'),
            'max_difference: ' || replace(m ->> '$.max_difference', '"', ''''),
            'bool_mismatch_count: ' || (m ->> '$.bool_mismatch_count'),
            'compilation_error: ' || coalesce((m ->> '$.compilation_error_name') || ': ', '') || (m ->> '$.compilation_error'),
            'runtime_error: ' || coalesce((m ->> '$.runtime_error_name') || ': ', '') || (m ->> '$.runtime_error'),
            'cuda_error: ' || (m ->> '$.cuda_error'),
            'other_error: ' || regexp_replace(m ->> '$.other_error', '^error: ', ''),
            'gpu_error: ' || (m ->> '$.gpu_error'),
            'error: ' || (m ->> '$.error'),
            'error_message: ' || (m ->> '$.error_message'),
            'error: ' || (x ->> '$.error'),
            'skip_reason: ' || (x ->> '$.skip_reason')
        ), '') as body,
        -- What the harness says itself. A text with an exception's name beside it, a runtime_error and a
        -- cuda_error are the kernel's.
        list_filter(
            [
                if(m ->> '$.compilation_error_name' is null, m ->> '$.compilation_error', null),
                regexp_replace(m ->> '$.other_error', '^error: ', ''),
                m ->> '$.gpu_error',
                m ->> '$.correctness_issue',
                m ->> '$.error',
                m ->> '$.error_message',
                x ->> '$.error',
                x ->> '$.skip_reason'
            ],
            lambda said: said is not null and said <> ''
        ) as own_words
    from finals
),
texts as (
    select run_id, turn, seq, 'tool' as origin, body, code from tool_texts
    union all
    select run_id, null as turn, null as seq, 'final' as origin, body, code from final_texts
)
select run_id, turn, seq, origin, 'text' as field, body, 0 as base
from texts
where body is not null
union all
-- The harness's own words: a candidate can raise, print and have its compiler quote any other.
select run_id, turn, seq, 'tool' as origin, 'harness' as field, substr(body, len(harness_prefix(body)) + 1) as body, len(harness_prefix(body)) as base
from tool_texts
where body is not null
union all
select run_id, null as turn, null as seq, 'final' as origin, 'harness' as field, said as body, instr(whole, said) - 1 as base
from (select run_id, body as whole, unnest(own_words) as said from final_texts)
union all
select run_id, turn, seq, origin, 'diagnostic' as field, line as body, instr(body, line) - 1 as base
from (select *, error_line(body) as line from texts)
where line <> ''
union all
select run_id, turn, seq, origin, 'metadata_error' as field, code as body, 0 as base
from texts
where code is not null
union all
select run_id, turn, null as seq, 'feedback' as origin, 'feedback' as field, feedback as body, 0 as base
from turns
where contains(feedback, 'LLM call failed') or contains(feedback, 'returned no choices')
union all
select run_id, null as turn, null as seq, 'label' as origin, 'source_outcome' as field, label_key(source_outcome) as body, 0 as base
from runs
where source_outcome is not null;
