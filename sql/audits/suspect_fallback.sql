-- purpose: the kernel falls back to library code when its own fails: what was timed may not be the kernel
-- severity: info
-- blocks: nothing
-- threshold: none: words in the source
select
    r.run_id,
    printf('suspect: %s', left(regexp_replace(m.words, '\s+', ' ', 'g'), 160)) as message,
    null as value,
    null as threshold
from kernel_marks as m
inner join runs as r on m.kernel_sha256 = r.submitted_kernel_sha256
where m.mark = 'fallback'
