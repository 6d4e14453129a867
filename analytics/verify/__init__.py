"""Re-running kernels against their references: choosing them, bundling them, and what came back.

`runner/` does the running and is copied whole into a bundle; everything beside it may use the database.
"""

from __future__ import annotations
