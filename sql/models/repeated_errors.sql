-- purpose: the same error again on the very same kernel: a turn that could teach nothing
-- grain: run_id, kernel_sha256, tool, failure_class
-- inputs: tool_calls, tool_failures
create or replace view repeated_errors as
select
    c.run_id,
    c.kernel_sha256,
    c.tool,
    f.failure_class,
    count(*) as n,
    count(*) - 1 as n_repeats,
    min(c.turn) as first_turn,
    max(c.turn) as last_turn,
    any_value(f.evidence order by c.turn, c.seq) as evidence
from tool_calls as c
inner join tool_failures as f on c.run_id = f.run_id and c.turn = f.turn and c.seq = f.seq
where c.kernel_sha256 is not null
group by c.run_id, c.kernel_sha256, c.tool, f.failure_class
having count(*) > 1;
