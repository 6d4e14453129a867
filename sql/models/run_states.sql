-- purpose: where each run stood after each turn: not_compiling, wrong, right, faster, or no change
-- grain: run_id, turn
-- inputs: runs, turns, tool_calls, tool_failures, turn_speedups, judges_final_state, tool_role
create or replace view run_states as
with judged as (
    select
        c.run_id,
        c.turn,
        case
            when c.ok and tool_role(c.tool) in ('check', 'submit') then 'right'
            when c.ok and tool_role(c.tool) = 'compile' then 'compiles'
            when f.outcome = 'compile_fail' then 'not_compiling'
            when f.outcome in ('incorrect', 'runtime_fail') then 'wrong'
            when f.outcome in ('timeout', 'infra_error') then 'not_judged'
        end as state,
        f.failure_class,
        c.seq,
        c.kernel_sha256
    from tool_calls as c
    inner join runs as r on c.run_id = r.run_id
    left join tool_failures as f on c.run_id = f.run_id and c.turn = f.turn and c.seq = f.seq
    where
        tool_role(c.tool) is not null
        and not judges_final_state(r.format)
),
last_of_turn as (
    -- That a kernel builds says nothing against the check that it passed before, in the same turn.
    select
        run_id,
        turn,
        unnest(if(last_call.state = 'compiles' and last_verdict.state = 'right' and last_call.kernel = last_verdict.kernel, last_verdict, last_call))
    from (
        select
            run_id,
            turn,
            max({ 'seq': seq, 'state': state, 'failure_class': failure_class, 'kernel': kernel_sha256 }) as last_call,
            max({ 'seq': seq, 'state': state, 'failure_class': failure_class, 'kernel': kernel_sha256 })
                filter (where state <> 'compiles') as last_verdict
        from judged
        where state is not null
        group by run_id, turn
    )
),
placed as (
    select
        t.run_id,
        t.turn,
        -- A turn's own timing, or that of the submission at the last passing turn.
        if(s.state = 'right' and v.speedup > 1, 'faster', s.state) as state,
        s.failure_class
    from turns as t
    left join last_of_turn as s on t.run_id = s.run_id and t.turn = s.turn
    left join turn_speedups as v on t.run_id = v.run_id and t.turn = v.turn
)
select
    run_id,
    turn,
    state,
    failure_class,
    lag(state ignore nulls) over (partition by run_id order by turn) as previous_state
from placed;
