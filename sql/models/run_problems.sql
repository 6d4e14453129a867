-- purpose: which problem each run is about. Sources name a problem by its number, its name or both, and some leave its
--   variant out: what one of them leaves out is taken from the others, where they leave no choice
-- grain: run_id
-- inputs: runs, run_links, problem_names, problem_pairs, problem_key, variant_key
-- stored: yes
-- changes: problems
-- parameters: none. Number and name complete each other within a suite, variant and level. A variant is taken only from
--   the other record of the same run (`run_links`), and then holds for all records of that problem without one.
create or replace view run_problems as
with records as (
    select run_id, linked_run_id as other_run_id from run_links
    union all
    select linked_run_id as run_id, run_id as other_run_id from run_links
),
variants as (
    select r.suite, r.level, r.problem_id, r.problem_name, max(variant_key(o.variant)) as variant
    from records as l
    inner join runs as r on l.run_id = r.run_id
    inner join runs as o on l.other_run_id = o.run_id
    where r.variant is null and o.variant is not null
    group by r.suite, r.level, r.problem_id, r.problem_name
    having count(distinct variant_key(o.variant)) = 1
),
varied as (
    select
        r.run_id,
        r.suite,
        variant_key(coalesce(r.variant, v.variant)) as variant,
        r.level,
        r.problem_id,
        r.problem_name
    from runs as r
    left join variants as v
        on
            r.variant is null
            and r.suite = v.suite
            and r.level is not distinct from v.level
            and r.problem_id is not distinct from v.problem_id
            and r.problem_name is not distinct from v.problem_name
),
placed as (
    select r.* replace (coalesce(n.problem_name, r.problem_name) as problem_name)
    from varied as r
    left join problem_names as n
        on
            r.suite = n.suite
            and r.variant = n.variant
            and r.level is not distinct from n.level
            and r.problem_id is not distinct from n.problem_id
            and r.problem_name = n.spelled
),
completed as (
    select
        p.run_id,
        p.suite,
        p.variant,
        p.level,
        coalesce(p.problem_id, i.problem_id) as problem_id,
        coalesce(p.problem_name, n.problem_name) as problem_name
    from placed as p
    left join problem_pairs as n
        on
            p.problem_name is null
            and n.only_name
            and p.suite = n.suite
            and p.variant = n.variant
            and p.level is not distinct from n.level
            and p.problem_id = n.problem_id
    left join problem_pairs as i
        on
            p.problem_id is null
            and i.only_number
            and p.suite = i.suite
            and p.variant = i.variant
            and p.level is not distinct from i.level
            and p.problem_name = i.problem_name
)
select
    *,
    problem_key(suite, variant, level, problem_id, problem_name) as problem_key
from completed;
