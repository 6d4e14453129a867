-- purpose: turns in which a tool that judges passed a kernel: what counts as right in mid-run
-- grain: run_id, turn, seq
-- inputs: runs, tool_calls, judges_final_state, tool_role
create or replace view judged_passes as
select
    t.run_id,
    t.turn,
    t.seq
from tool_calls as t
inner join runs as r on t.run_id = r.run_id
where
    t.ok
    and tool_role(t.tool) in ('check', 'submit')
    and not judges_final_state(r.format);
