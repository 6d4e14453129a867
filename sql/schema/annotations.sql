-- purpose: what people say of a run or a kernel
-- grain: one statement
create table annotations (
    source_id varchar not null,  -- the source
    run_id varchar,  -- the run, or
    kernel_sha256 varchar,  -- the kernel
    verdict varchar,  -- the word they chose
    text varchar,  -- their reasons
    author varchar  -- who
);
