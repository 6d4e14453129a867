-- purpose: two models' runs hold the very same kernel
-- severity: warning
-- blocks: nothing
-- threshold: 30 lines: short kernels can coincide
select
    r.run_id,
    printf('the same kernel of %d lines stands in a run of %s', max(k.n_lines), min(o.model)) as message,
    count(distinct o.run_id) as value,
    30 as threshold
from runs as r
inner join runs as o on r.submitted_kernel_sha256 = o.submitted_kernel_sha256 and r.model <> o.model
inner join kernels as k on r.submitted_kernel_sha256 = k.kernel_sha256
-- Two records of one run hold its kernel twice, though one may spell its model otherwise.
anti join (
    select run_id, linked_run_id as other_run_id from run_links
    union all
    select linked_run_id as run_id, run_id as other_run_id from run_links
) as l on r.run_id = l.run_id and o.run_id = l.other_run_id
where k.n_lines >= 30
group by r.run_id
