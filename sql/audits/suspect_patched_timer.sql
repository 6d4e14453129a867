-- purpose: the kernel assigns to a timer or to a synchronisation function
-- severity: warning
-- blocks: nothing
-- threshold: none: words in the source
-- needs: kernel_marks(patched_timer)
from suspect_runs('patched_timer')
