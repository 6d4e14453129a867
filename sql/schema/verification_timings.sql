-- purpose: the pairs a measured speedup rests on
-- grain: verification_id, baseline, pair
create table verification_timings (
    verification_id varchar not null,  -- the verification
    source_id varchar not null,  -- the results file
    baseline varchar not null,  -- eager, graph …
    pair bigint not null,  -- order in time, from 0
    ref_us double,  -- reference, microseconds a call
    cand_us double,  -- candidate, microseconds a call
    kept boolean,  -- counted, or dropped by the rule
    clock_mhz double  -- SM clock meanwhile
);
