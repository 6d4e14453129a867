-- purpose: one attempt of one agent at one problem, as its source tells it
-- grain: run_id
create table runs (
    run_id varchar primary key,  -- stable hash of suite, sweep, variant, model_raw, level, problem, sample, harness
    source_id varchar not null,  -- the source it was read from
    format varchar not null,  -- format of that source
    suite varchar not null,  -- suite's name
    sweep varchar,  -- run_name: one launch of a harness over many problems
    variant varchar,  -- problem set within the level
    mode varchar,  -- tool tier: single, default, all … from the source or the sweep's name
    model_raw varchar,  -- model as the source names it
    model varchar,  -- model with the alias applied
    harness varchar,  -- program that drove the model
    level bigint,  -- level within the suite
    problem_id bigint,  -- number within (level, variant)
    problem_name varchar,  -- file name of the reference
    sample_id bigint,  -- which of several samples, from 0
    backend varchar,  -- cuda, triton …
    precision varchar,  -- fp32, fp16, bf16
    hardware varchar,  -- GPU the harness ran on
    max_turns bigint,  -- turns allowed
    n_turns bigint,  -- turns taken
    n_tool_calls bigint,  -- tool calls made
    started_at timestamptz,  -- UTC
    finished_at timestamptz,  -- UTC; NULL alone does not mean in progress
    wall_s double,  -- wall clock of the whole run, s
    input_tokens bigint,  -- tokens in, over all turns
    output_tokens bigint,  -- tokens out, over all turns
    total_tokens bigint,  -- tokens, over all turns
    cost_usd double,  -- US dollars, where the source says
    truncated boolean,  -- log or context was cut
    source_outcome varchar,  -- outcome as the source labels it
    compiled boolean,  -- as the source says
    correct boolean,  -- as the source says
    runtime_us double,  -- candidate's runtime, microseconds
    ref_runtime_us double,  -- reference's runtime, microseconds
    speedup double,  -- as the source gives it, else from unrounded runtimes
    baseline varchar,  -- what speedup is against: eager, compile …
    submitted_kernel_sha256 varchar,  -- last submitted kernel
    reference_sha256 varchar,  -- reference the source names or carries
    extra json  -- what the source has and no column holds
);
