-- purpose: the kernel makes CUDA streams of its own: work that a timer on the current stream may not wait for
-- severity: info
-- blocks: nothing
-- threshold: none: words in the source; most uses are lawful, and only a re-run tells
select
    r.run_id,
    printf('suspect: %s', left(regexp_replace(m.words, '\s+', ' ', 'g'), 160)) as message,
    null as value,
    null as threshold
from kernel_marks as m
inner join runs as r on m.kernel_sha256 = r.submitted_kernel_sha256
where m.mark = 'streams'
