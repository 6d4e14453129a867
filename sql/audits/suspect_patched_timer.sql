-- purpose: the kernel assigns to a timer, to a synchronisation function or to what judges it
-- severity: warning
-- blocks: nothing
-- threshold: none: words in the source
-- needs: kernel_marks(patched_timer)
from suspect_runs('patched_timer')
