-- purpose: what was said; user and system from the first turn's input only, since later inputs repeat it
-- grain: run_id, turn, seq
create table messages (
    run_id varchar not null,  -- the run
    turn bigint not null,  -- turn it belongs to
    seq bigint not null,  -- order within the turn, from 0
    kind varchar not null,  -- reasoning | assistant | user | system | feedback
    text varchar not null  -- whole
);
