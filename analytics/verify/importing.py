"""Taking results back into the database: they are a source like any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.analytics.verify import schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kbstats.ingest.pipeline import IngestSummary


def import_results(paths: Sequence[Path], db: Path) -> tuple[int, IngestSummary]:
    """Check the files against the schema, then ingest them.

    Returns:
        the number of results in the files, and the ingest's summary.

    Raises:
        KbstatsError: if a file is no results file; nothing is ingested then.
    """
    count = sum(schema.check_file(path) for path in paths)
    from kbstats.analytics import warehouse
    from kbstats.ingest import pipeline

    con = warehouse.open_write(db)
    try:
        summary = pipeline.ingest(con, list(paths), format="verification")
        warehouse.refresh(con)
    finally:
        con.close()
    return count, summary
