-- purpose: the same run_id seen again in another source; the later one is the run, the others stand here
-- grain: run_id, source_id
create table run_copies (
    run_id varchar not null,  -- the run it is a copy of
    source_id varchar not null,  -- where the copy stands
    reason varchar not null,  -- identical | rerun | relabelled
    finished_at timestamptz,  -- of the copy, UTC
    record json not null  -- the whole record: the run and its turns, calls, metrics …
);
