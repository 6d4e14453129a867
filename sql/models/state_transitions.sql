-- purpose: how agents move between states: how often each follows each
-- grain: model, previous_state, state
-- inputs: runs, linked_runs, run_states
create or replace view state_transitions as
select
    coalesce(r.model, r.model_raw, '(unknown)') as model,
    coalesce(s.previous_state, 'start') as previous_state,
    s.state,
    count(*) as n,
    count(distinct s.run_id) as n_runs
from run_states as s
inner join runs as r on s.run_id = r.run_id
anti join linked_runs as l on s.run_id = l.run_id
where s.state is not null
group by all;
