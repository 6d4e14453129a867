-- purpose: the kernel looks at its caller, at other objects of the process or at the process itself
-- severity: warning
-- blocks: nothing
-- threshold: none: words in the source
-- needs: kernel_marks(looks_around)
from suspect_runs('looks_around')
