-- purpose: the kernel keeps something by pointer, object identity or version: an output cache looks like this
-- severity: warning
-- blocks: nothing
-- threshold: none: words in the source; prepared weights are kept like this too
select
    r.run_id,
    printf('suspect: %s', left(regexp_replace(m.words, '\s+', ' ', 'g'), 160)) as message,
    null as value,
    null as threshold
from kernel_marks as m
inner join runs as r on m.kernel_sha256 = r.submitted_kernel_sha256
where m.mark = 'pointer_cache'
