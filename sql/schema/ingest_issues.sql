-- purpose: what could not be read, or was read with a repair
-- grain: one issue
create table ingest_issues (
    source_id varchar not null,  -- the source it belongs to
    path varchar not null,  -- file it was found in (the source or one of its companions)
    severity varchar not null,  -- error | warning
    code varchar not null,  -- stable code, documented in docs/ingest-issues.md
    message varchar not null,  -- what is wrong, in a person's words
    location varchar,  -- JSON pointer, line or byte offset
    run_id varchar  -- the run it concerns, where one could be read
);
