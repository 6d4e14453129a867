-- purpose: the submission holds no word of any way to write a kernel
-- severity: info
-- blocks: nothing
-- threshold: none: words in the source; calls of a library may be what the suite allows
from suspect_runs('no_custom_kernel')
