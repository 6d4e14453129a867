-- purpose: the kernel falls back to library code when its own fails: what was timed may not be the kernel
-- severity: info
-- blocks: nothing
-- threshold: none: words in the source
-- needs: kernel_marks(fallback)
from suspect_runs('fallback')
