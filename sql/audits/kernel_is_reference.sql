-- purpose: the submitted kernel is the reference itself, its class renamed and its comments changed at most
-- severity: warning
-- blocks: nothing
-- threshold: equal sources once comments, white space and the word New are gone
-- needs: problems
with plain as (
    -- Only what holds no word of a kernel can be the reference: few, so that the expressions stay cheap.
    select
        r.run_id,
        regexp_replace(
            regexp_replace(replace(k.source_code, 'ModelNew', 'Model'), '#[^\n]*|"""(?s:.*?)"""', '', 'g'), '\s+', '', 'g'
        ) as kernel,
        r.suite,
        r.level,
        r.problem_name
    from runs as r
    inner join kernels as k on r.submitted_kernel_sha256 = k.kernel_sha256
    semi join (
        select kernel_sha256 from kernel_marks where mark = 'no_custom_kernel'
    ) as m on r.submitted_kernel_sha256 = m.kernel_sha256
),
wanted as (
    select distinct suite, level, problem_name
    from plain
),
originals as (
    select distinct
        p.suite,
        p.level,
        p.problem_name,
        regexp_replace(regexp_replace(p.source_code, '#[^\n]*|"""(?s:.*?)"""', '', 'g'), '\s+', '', 'g') as reference
    from problems as p
    semi join wanted as w on p.suite = w.suite and p.level is not distinct from w.level and p.problem_name = w.problem_name
    where p.source_code is not null
)
select
    run_id,
    if(
        bool_or(identical),
        'the submitted kernel is the reference''s own source',
        'the submitted kernel is the reference with another name: no custom kernel'
    ) as message,
    null as value,
    null as threshold
from (
    select r.run_id, true as identical
    from runs as r
    semi join problems as p on r.submitted_kernel_sha256 = p.source_sha256
    union all
    select k.run_id, false as identical
    from plain as k
    inner join originals as o
        on k.suite = o.suite and k.level is not distinct from o.level and k.problem_name = o.problem_name and k.kernel = o.reference
)
group by run_id
