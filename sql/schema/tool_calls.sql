-- purpose: tool calls and their outcomes
-- grain: run_id, turn, seq
create table tool_calls (
    run_id varchar not null,  -- the run
    turn bigint not null,  -- turn it belongs to
    seq bigint not null,  -- order within the turn, from 0
    tool varchar not null,  -- compile_kernel, run_correctness, submit_kernel …
    ok boolean,  -- success, as the source says
    outcome varchar,  -- passed | failed | error | timeout | refused
    kernel_sha256 varchar,  -- kernel it was called with
    args json,  -- arguments without the kernel
    result_text varchar,  -- what the tool answered, whole
    metadata json,  -- structured part of the answer
    duration_s double  -- seconds
);
