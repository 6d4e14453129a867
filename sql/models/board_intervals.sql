-- purpose: bootstrap intervals of boards that were computed before, by a hash of the speedups and problems they rest on
-- grain: key
-- inputs:
create table if not exists board_intervals (
    key varchar primary key,
    geomean_lo double,
    geomean_hi double,
    median_lo double,
    median_hi double
);
