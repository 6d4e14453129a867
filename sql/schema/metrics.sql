-- purpose: every other measured number, with its unit and who measured it
-- grain: run_id, turn, seq, subject, name, source
create table metrics (
    run_id varchar not null,  -- the run
    turn bigint,  -- turn; NULL for the final result
    seq bigint,  -- tool call within the turn; NULL for the final result
    subject varchar not null,  -- candidate | reference | ratio
    name varchar not null,  -- dotted name without the unit: occupancy, runtime.std, warp_stall.long_scoreboard
    value double not null,  -- in `unit`
    unit varchar,  -- us, bytes, pct, gb_per_s, mj, w, count, ratio …
    source varchar  -- nsight | torch.profiler | nvml | heuristic | harness | table
);
