-- purpose: reference problems of a suite, from a checkout or from traces that carry the source
-- grain: suite, level, variant, problem_name, source
create table problems (
    source_id varchar not null,  -- the source that brought it
    suite varchar not null,  -- suite's name: kernelbench, popcornbench …
    level bigint,  -- level within the suite
    variant varchar,  -- problem set within the level; `original` and `default` are the level itself
    problem_id bigint,  -- number within (level, variant)
    problem_name varchar,  -- file name of the reference, with .py
    source_code varchar,  -- the reference's source, whole
    source_sha256 varchar,  -- sha256 of the source: LF line ends, trailing white space stripped
    backend varchar,  -- backend asked for, where the suite says
    draws_shapes boolean  -- get_inputs draws at least one dimension
);
