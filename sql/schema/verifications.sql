-- purpose: results of re-running a kernel against its reference
-- grain: verification_id
create table verifications (
    verification_id varchar primary key,  -- hash of kernel, reference, protocol, machine and session
    source_id varchar not null,  -- the results file
    kernel_sha256 varchar not null,  -- what was run
    suite varchar,  -- of the problem
    level bigint,  -- of the problem
    variant varchar,  -- of the problem
    problem_name varchar,  -- of the problem
    precision varchar,  -- precision asked for
    reference_sha256 varchar,  -- the reference that --problems gave
    claimed_speedup double,  -- claim it was held against
    verdict varchar not null,  -- WORD or WORD:kind (docs/verification.md)
    kind varchar,  -- the part after the colon
    correctness varchar not null,  -- passed | failed | flaky | unknown
    speed varchar not null,  -- faster | same | slower | not_measured
    gate varchar,  -- the gate that decided
    witness json,  -- what anybody can check: input shapes, call, values
    badges varchar[],  -- orthogonal remarks: LIBRARY_CALL …
    speedup double,  -- measured, reference time over candidate time
    speedup_lo double,  -- 95 % interval
    speedup_hi double,  -- 95 % interval
    baseline varchar,  -- what speedup is against
    device varchar,  -- cpu | cuda
    gpu_model varchar,  -- as the driver names it
    protocol varchar,  -- version of the protocol
    sandbox_ok boolean,  -- every required layer stood its probe
    verified_at timestamptz,  -- UTC
    document json  -- the whole result
);
