"""Times as sources write them, to UTC."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kbstats.ingest.batch import Batch


def utc(value: Any, batch: Batch, location: str) -> datetime | None:
    """A time of day: ISO 8601 text (no zone: UTC) or seconds since 1970. What is neither is an issue."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
        at = datetime.fromisoformat(str(value).strip())
        at = at if at.tzinfo else at.replace(tzinfo=UTC)
        return at.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        batch.issue("bad_time", f"not a time: {str(value)[:60]!r}", location=location)
        return None
