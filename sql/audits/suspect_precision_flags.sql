-- purpose: the kernel asks for a lower precision or for fast mathematics
-- severity: info
-- blocks: nothing
-- threshold: none: words in the source; a verification measures the precision
-- needs: kernel_marks(precision_flags)
from suspect_runs('precision_flags')
