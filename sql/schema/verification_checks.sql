-- purpose: one gate of one verification
-- grain: verification_id, gate
create table verification_checks (
    verification_id varchar not null,  -- the verification
    source_id varchar not null,  -- the results file
    gate varchar not null,  -- G0 … G9, power …
    passed boolean,  -- NULL: not run
    n bigint,  -- calls it rests on
    detail json  -- what was compared, and how far off it was
);
