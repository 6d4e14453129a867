"""Taking results back into the database: they are a source like any other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kbstats.analytics.verify import schema
from kbstats.ingest.errors import UsageError

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


def runs_of(results: Path) -> list[str]:
    """Return the runs whose results a file holds.

    Raises:
        UsageError: if none of its results names a run.
    """
    schema.check_file(results)
    documents = (json.loads(line) for line in results.read_text(encoding="utf-8").splitlines() if line.strip())
    runs = list(dict.fromkeys(run for d in documents for run in d.get("run_ids", [])))
    if not runs:
        raise UsageError("no result in the file names a run", location=results, hint="give --kernel-file, or a bundle")
    return runs
