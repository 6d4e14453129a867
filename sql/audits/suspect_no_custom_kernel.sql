-- purpose: the submission holds no word of any way to write a kernel
-- severity: info
-- blocks: nothing
-- threshold: none: words in the source; calls of a library may be what the suite allows
-- needs: kernel_marks(no_custom_kernel)
from suspect_runs('no_custom_kernel')
