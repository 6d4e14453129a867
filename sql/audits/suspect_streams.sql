-- purpose: the kernel makes CUDA streams of its own: work that a timer on the current stream may not wait for
-- severity: info
-- blocks: nothing
-- threshold: none: words in the source; most uses are lawful, and only a re-run tells
-- needs: kernel_marks(streams)
from suspect_runs('streams')
