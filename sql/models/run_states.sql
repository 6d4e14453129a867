-- purpose: where each run stood after each turn: not_compiling, wrong, right, faster, or no change
-- grain: run_id, turn
-- inputs: runs, turns, tool_calls, tool_failures
create or replace view run_states as
with judged as (
    select
        c.run_id,
        c.turn,
        case
            when c.ok and c.tool in ('run_correctness', 'submit_kernel') then 'right'
            when c.ok and c.tool = 'compile_kernel' then 'compiles'
            when f.outcome = 'compile_fail' then 'not_compiling'
            when f.outcome in ('incorrect', 'runtime_fail') then 'wrong'
            when f.outcome in ('timeout', 'infra_error') then 'not_judged'
        end as state,
        f.failure_class,
        c.seq
    from tool_calls as c
    left join tool_failures as f on c.run_id = f.run_id and c.turn = f.turn and c.seq = f.seq
    where c.tool in ('compile_kernel', 'run_correctness', 'submit_kernel', 'static_check')
),
last_of_turn as (
    select run_id, turn, state, failure_class
    from judged
    where state is not null
    qualify row_number() over (partition by run_id, turn order by seq desc) = 1
)
select
    t.run_id,
    t.turn,
    -- A measured speedup stands for the last passing turn only: sources time the submission.
    if(
        s.state = 'right' and r.speedup > 1
        and t.turn = max(if(s.state = 'right', t.turn, null)) over (partition by t.run_id),
        'faster',
        s.state
    ) as state,
    s.failure_class,
    lag(s.state ignore nulls) over (partition by t.run_id order by t.turn) as previous_state
from turns as t
inner join runs as r on t.run_id = r.run_id
left join last_of_turn as s on t.run_id = s.run_id and t.turn = s.turn;
