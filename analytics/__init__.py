"""kbstats.analytics: warehouse, leaderboards, failures, audit, statistics, verification, command line.

In a notebook:

    import kbstats.analytics as kb

    with kb.connect("kbstats.duckdb") as db:
        db.leaderboard(level=3, trust="audited")    # a polars frame

Importing it loads nothing heavy; `connect` does.
"""

# No `from __future__ import annotations` here: it would hide the module of that name.
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kbstats.analytics.notebook import BoardNote, Database, connect
    from kbstats.ingest.errors import KbstatsError

__all__ = ["BoardNote", "Database", "KbstatsError", "connect"]


def __getattr__(name: str) -> Any:
    """Load the notebook's interface when it is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "KbstatsError":
        from kbstats.ingest import errors

        return errors.KbstatsError
    from kbstats.analytics import notebook

    return getattr(notebook, name)


def __dir__() -> list[str]:
    """What there is, for completion."""
    return sorted([*globals(), *__all__])
