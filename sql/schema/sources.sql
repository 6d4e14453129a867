-- purpose: one row per file that a format claimed; what was read, when, and how it went
-- grain: path
create table sources (
    source_id varchar primary key,  -- stable id of the path
    path varchar not null unique,  -- absolute path, the key; shown relative to `root`
    root varchar,  -- the argument of `kbstats ingest` under which the file was found
    format varchar not null,  -- name of the format that claimed it
    content_hash varchar,  -- xxh3_128 over the file and its companions; tells change, nothing else. Empty: to be read again, by readers that have changed
    size_bytes bigint,  -- size of the file and its companions
    mtime timestamptz,  -- newest modification time among them
    ingested_at timestamptz not null,  -- when it was read
    status varchar not null,  -- ok | partial | rejected
    n_runs bigint not null  -- runs it yielded, copies included
);
