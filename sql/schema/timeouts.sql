-- purpose: every time limit that was hit, whatever the source calls it
-- grain: one time-out
create table timeouts (
    run_id varchar not null,  -- the run
    turn bigint,  -- turn; NULL for the final result
    seq bigint,  -- tool call within the turn
    scope varchar not null,  -- tool | work_item | eval_rpc | torchrun | profile | llm | check | benchmark | session
    budget_s double,  -- the limit, s
    elapsed_s double,  -- when it was stopped, s
    message varchar  -- the words that say so
);
