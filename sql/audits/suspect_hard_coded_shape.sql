-- purpose: the kernel repeats as a constant a dimension that its reference draws anew for each call
-- severity: warning
-- blocks: nothing
-- threshold: none: name and value, or a batch of that value, in the kernel's source; it fails on other draws if it relies on it
-- needs: problems
with drawn as (
    select
        suite,
        level,
        problem_name,
        source_code,
        unnest(list_distinct(regexp_extract_all(source_code, 'jitter_int\(\s*(\w+)', 1))) as base
    from problems
    where draws_shapes and contains(source_code, 'jitter_int')
),
valued as (
    select
        suite,
        level,
        problem_name,
        base,
        if(
            regexp_full_match(base, '\d+'), base, nullif(regexp_extract(source_code, '(?m)^\s*' || base || '\s*=\s*(\d+)', 1), '')
        ) as number
    from drawn
),
repeated as (
    select
        r.run_id,
        v.number,
        trim(regexp_extract(k.source_code, '(?i)\b(?:' || v.base || '|batch\w*)\s*(?:=|\s)\s*' || v.number || '\b')) as words
    from runs as r
    inner join valued as v on r.suite = v.suite and r.level is not distinct from v.level and r.problem_name = v.problem_name
    inner join kernels as k on r.submitted_kernel_sha256 = k.kernel_sha256
    where v.number is not null and contains(k.source_code, v.number)
)
select
    run_id,
    printf('suspect: %s, while the reference draws that dimension around %s', words, number) as message,
    number::double as value,
    null as threshold
from repeated
where words <> ''
-- Of several one, words and number of the same dimension.
qualify row_number() over (partition by run_id order by words asc, number asc) = 1
