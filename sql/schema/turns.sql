-- purpose: one exchange with the model
-- grain: run_id, turn
create table turns (
    run_id varchar not null,  -- the run
    turn bigint not null,  -- from 0, in order
    llm_s double,  -- seconds the model took
    tools_s double,  -- seconds the tools took
    wall_s double,  -- seconds of the whole turn
    input_tokens bigint,  -- tokens in
    output_tokens bigint,  -- tokens out
    total_tokens bigint,  -- tokens in all
    is_final boolean,  -- the source marks it as the last
    provider_truncated boolean,  -- the provider cut the answer
    feedback varchar  -- what the harness told the model after the turn
);
