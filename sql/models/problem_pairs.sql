-- purpose: number and name of each problem where a source gives both, and whether each tells the other
-- grain: suite, variant, level, problem_id, problem_name
-- inputs: runs, problems, problem_names, variant_key
create or replace view problem_pairs as
with told as (
    select suite, variant_key(variant) as variant, level, problem_id, problem_name
    from runs
    where problem_id is not null and problem_name is not null
    union
    select suite, variant_key(variant) as variant, level, problem_id, problem_name
    from problems
    where problem_id is not null and problem_name is not null
),
-- However it is spelled.
named as (
    select distinct t.suite, t.variant, t.level, t.problem_id, coalesce(n.problem_name, t.problem_name) as problem_name
    from told as t
    left join problem_names as n
        on
            t.suite = n.suite
            and t.variant = n.variant
            and t.level is not distinct from n.level
            and t.problem_id is not distinct from n.problem_id
            and t.problem_name = n.spelled
)
select
    *,
    count(*) over (partition by suite, variant, level, problem_id) = 1 as only_name,
    count(*) over (partition by suite, variant, level, problem_name) = 1 as only_number
from named;
