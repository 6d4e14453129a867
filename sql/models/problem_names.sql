-- purpose: spellings of one problem's name ("1_Softmax", "1_Softmax.py", "Softmax" beside the number 1) and the one that stands for all: the longest that any source gives, with the ending
-- grain: suite, variant, level, problem_id, spelled. A name that is spelled in one way has no row
-- inputs: runs, problems, variant_key
create or replace view problem_names as
with told as (
    select suite, variant_key(variant) as variant, level, problem_id, problem_name as spelled
    from runs
    where problem_name is not null
    union
    select suite, variant_key(variant) as variant, level, problem_id, problem_name as spelled
    from problems
    where problem_name is not null
),
bare as (
    select *, regexp_replace(spelled, '\.py$', '') as base
    from told
),
named as (
    select
        * exclude (base),
        max({ 'size': len(spelled), 'name': spelled }) over (
            partition by
                suite, variant, level,
                if(problem_id is null or starts_with(base, problem_id || '_'), base, problem_id || '_' || base)
        ).name as problem_name
    from bare
)
select *
from named
where spelled <> problem_name;
