-- purpose: which tools precede a first pass, and how runs fare that use them
-- grain: model, tool
-- inputs: runs, linked_runs, tool_calls, run_progress
create or replace view tools_before_success as
with used as (
    select
        c.run_id,
        c.tool,
        count(*) as n_calls,
        bool_or(p.first_right_turn is not null and c.turn <= p.first_right_turn) as before_first_pass
    from tool_calls as c
    left join run_progress as p on c.run_id = p.run_id
    group by c.run_id, c.tool
)
select
    coalesce(r.model, r.model_raw, '(unknown)') as model,
    u.tool,
    count(*) as n_runs,
    sum(u.n_calls)::bigint as n_calls,
    count(*) filter (where p.run_id is not null) as n_runs_passed,
    count(*) filter (where u.before_first_pass) as n_runs_before_first_pass,
    count(*) filter (where p.run_id is not null) / count(*) as pass_rate
from used as u
inner join runs as r on u.run_id = r.run_id
anti join linked_runs as l on u.run_id = l.run_id
left join run_progress as p on u.run_id = p.run_id
group by all;
