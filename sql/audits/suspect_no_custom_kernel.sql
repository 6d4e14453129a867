-- purpose: the submission holds no word of any way to write a kernel
-- severity: info
-- blocks: nothing
-- threshold: none: words in the source; calls of a library may be what the suite allows
select
    r.run_id,
    printf('suspect: %s', left(regexp_replace(m.words, '\s+', ' ', 'g'), 160)) as message,
    null as value,
    null as threshold
from kernel_marks as m
inner join runs as r on m.kernel_sha256 = r.submitted_kernel_sha256
where m.mark = 'no_custom_kernel'
