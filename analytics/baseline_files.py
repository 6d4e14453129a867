"""Reference timings from a file named on the command line, for one board."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbstats.ingest.errors import KbstatsError

if TYPE_CHECKING:
    from pathlib import Path

    import duckdb


def use(con: duckdb.DuckDBPyConnection, path: Path) -> str:
    """Let the boards of this connection read their baselines from a file, and from it alone.

    The file is read like any source: by the format that claims it, hardware from its entries or its
    folder's name. The temporary table hides the database's own.

    Returns:
        The baseline that the file holds (`eager`, `compile` …), to be named in the filters.

    Raises:
        KbstatsError: no format reads it, it holds no timing, or timings of several baselines.
    """
    from kbstats.ingest import registry
    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source
    from kbstats.ingest.rows import Baseline

    fmt = registry.sniff(path)
    if fmt is None:
        raise KbstatsError("no format reads this baseline file", location=path, hint="see docs/formats.md")
    path = path.resolve()
    batch = Batch("baseline", str(path))
    fmt.read(Source(path, "baseline"), batch)
    rows = [r for r in batch.rows.get(Baseline.table, []) if isinstance(r, Baseline) and r.mean_us]
    names = sorted({r.baseline for r in rows if r.baseline})
    if len(names) != 1:
        held = f"timings of several baselines ({', '.join(names)})" if names else "no timing"
        raise KbstatsError(f"the file holds {held}", location=path)
    con.execute("create or replace temp table baselines as from main.baselines limit 0")
    con.executemany(
        "insert into temp.baselines by name select ? as source_id, ? as suite, ? as hardware, ? as baseline, "
        "? as level, ? as problem_name, ? as mean_us",
        [["baseline", r.suite, r.hardware, r.baseline, r.level, r.problem_name, r.mean_us] for r in rows],
    )
    return names[0]
