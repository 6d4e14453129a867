-- purpose: the problems that each suite offers, as far as any source tells: its problem files, and what anybody attempted
-- grain: problem_key
-- inputs: problems, problem_names, problem_pairs, run_problems, problem_key, variant_key
-- stored: yes
-- changes: problems
create or replace view suite_problems as
select
    p.suite,
    variant_key(p.variant) as variant,
    p.level,
    problem_key(
        p.suite, p.variant, p.level, coalesce(p.problem_id, i.problem_id), coalesce(p.problem_name, n.problem_name)
    ) as problem_key
from (
    select q.* replace (coalesce(s.problem_name, q.problem_name) as problem_name)
    from problems as q
    left join problem_names as s
        on
            q.suite = s.suite
            and variant_key(q.variant) = s.variant
            and q.level is not distinct from s.level
            and q.problem_id is not distinct from s.problem_id
            and q.problem_name = s.spelled
) as p
left join problem_pairs as n
    on
        p.problem_name is null
        and n.only_name
        and p.suite = n.suite
        and variant_key(p.variant) = n.variant
        and p.level is not distinct from n.level
        and p.problem_id = n.problem_id
left join problem_pairs as i
    on
        p.problem_id is null
        and i.only_number
        and p.suite = i.suite
        and variant_key(p.variant) = i.variant
        and p.level is not distinct from i.level
        and p.problem_name = i.problem_name
union
select suite, variant, level, problem_key
from run_problems;
