-- purpose: one run seen in two formats (table and trace, page and trajectory)
-- grain: run_id, linked_run_id
create table run_links (
    run_id varchar not null,  -- the richer of the two: this one ranks
    linked_run_id varchar not null,  -- the other: it stays, and does not rank
    matched_on varchar not null  -- what agreed: speedup, wall_s, n_turns
);
