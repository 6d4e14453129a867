-- purpose: why each failing tool call failed; what no rule names is `unclassified`
-- grain: run_id, turn, seq
-- inputs: tool_calls, classified_texts, tool_role
create or replace view tool_failures as
-- What is asked of a text is asked before the join: it would carry the texts along.
with calls as (
    select
        run_id,
        turn,
        seq,
        tool,
        left(result_text, 400) as beginning,
        contains(result_text, 'did not compile') as not_compiled,
        contains(result_text, 'correctness check did not pass') as not_passed,
        contains(result_text, 'eval_kernel_against_ref raised') as raised,
        contains(result_text, 'runtime_error:') as at_run_time
    from tool_calls
    where ok = false
)
select
    t.run_id,
    t.turn,
    t.seq,
    t.tool,
    coalesce(c.failure_class, 'unclassified') as failure_class,
    c.owner,
    coalesce(c.evidence, t.beginning) as evidence,
    c.rule,
    -- Characters from 0 in result_text; NULL where the harness's code decided.
    if(c.field in ('text', 'harness', 'diagnostic'), c.evidence_start, null) as evidence_start,
    if(c.field in ('text', 'harness', 'diagnostic'), c.evidence_end, null) as evidence_end,
    -- What the run would end as were this its last submission. The harness's phase beats the class
    -- between "did not build" and "failed at run time": an AttributeError is found in both.
    case
        when c.outcome is null then
            case
                when t.not_compiled then 'compile_fail'
                when t.not_passed then 'incorrect'
                else 'unknown'
            end
        when c.outcome in ('compile_fail', 'runtime_fail') then
            case
                when t.raised then c.outcome
                when c.failure_class like 'cuda.%' then c.outcome
                when tool_role(t.tool) = 'compile' or t.not_compiled then 'compile_fail'
                when t.at_run_time then 'runtime_fail'
                else c.outcome
            end
        else c.outcome
    end as outcome
from calls as t
left join classified_texts as c
    on t.run_id = c.run_id and t.turn = c.turn and t.seq = c.seq and c.origin = 'tool';
