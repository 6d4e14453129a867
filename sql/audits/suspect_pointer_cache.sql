-- purpose: the kernel keeps something by pointer, object identity or version: an output cache looks like this
-- severity: warning
-- blocks: nothing
-- threshold: none: words in the source; prepared weights are kept like this too
-- needs: kernel_marks(pointer_cache)
from suspect_runs('pointer_cache')
