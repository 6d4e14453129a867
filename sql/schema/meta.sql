-- purpose: which version of kbstats made this database
-- grain: key
create table meta (
    key varchar primary key,  -- schema_hash | models_hash | kbstats_version | readers (what decides what is read) | derived (stale: an ingest was stopped half way) | model_aliases | boards (what the kept intervals rest on) | lake (state of the lake that was attached) | lake_folder (the lake that views read)
    value varchar not null  -- its value
);
