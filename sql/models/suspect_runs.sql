-- purpose: the runs whose submitted kernel carries a mark, with its words: the body of the audits that only suspect
-- grain: run_id
-- inputs: runs, kernel_marks
create or replace macro suspect_runs(wanted) as table
select
    r.run_id,
    printf('suspect: %s', left(regexp_replace(m.words, '\s+', ' ', 'g'), 160)) as message,
    null as value,
    null as threshold
from kernel_marks as m
inner join runs as r on m.kernel_sha256 = r.submitted_kernel_sha256
where m.mark = wanted;
