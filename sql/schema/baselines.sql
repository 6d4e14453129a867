-- purpose: reference timings from files of their own
-- grain: suite, hardware, baseline, level, problem_name, era
create table baselines (
    source_id varchar not null,  -- the source
    suite varchar,  -- suite's name
    hardware varchar,  -- GPU
    baseline varchar,  -- eager, compile …
    level bigint,  -- level
    problem_name varchar,  -- file name of the reference
    mean_us double,  -- microseconds
    std_us double,  -- microseconds
    min_us double,  -- microseconds
    max_us double,  -- microseconds
    n_trials bigint,  -- trials
    era varchar  -- which generation of problem sizes
);
