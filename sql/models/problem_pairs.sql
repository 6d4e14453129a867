-- purpose: number and name of each problem where a source gives both, and whether each tells the other
-- grain: suite, variant, level, problem_id, problem_name
-- inputs: runs, problems, variant_key
create or replace view problem_pairs as
with told as (
    select suite, variant_key(variant) as variant, level, problem_id, problem_name
    from runs
    where problem_id is not null and problem_name is not null
    union
    select suite, variant_key(variant) as variant, level, problem_id, problem_name
    from problems
    where problem_id is not null and problem_name is not null
)
select
    *,
    count(*) over (partition by suite, variant, level, problem_id) = 1 as only_name,
    count(*) over (partition by suite, variant, level, problem_name) = 1 as only_number
from told;
