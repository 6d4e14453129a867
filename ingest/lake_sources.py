"""The sources of a lake: what its parts say of them, and the rows that a new part says it with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kbstats.ingest import readers
from kbstats.ingest.lake import SOURCES, Lake, Shard
from kbstats.ingest.store import Known

if TYPE_CHECKING:
    from datetime import datetime

    import pyarrow as pa


class Entry(NamedTuple):
    """A source as a lake has it now."""

    path: str
    known: Known
    kind: str
    status: str
    n_runs: int
    n_rows: int
    root: str


def entries(lake: Lake, shard: Shard) -> dict[str, Entry]:
    """What the lake holds of a share, by source id; gone sources and places of the walk included."""
    import pyarrow.parquet as pq

    found: dict[str, Entry] = {}
    for part in lake.parts():  # oldest first: the newest stays
        table = pq.read_table(lake.file(SOURCES, part))
        again = part.readers != readers.fingerprint()
        # whichever shard wrote them: there may have been another number of shards
        own = [shard.holds(path) for path in table["path"].to_pylist()]
        for row in table.filter(own).to_pylist():
            found[row["source_id"]] = Entry(
                row["path"],
                Known(
                    row["format"],
                    readers.AGAIN if again and row["content_hash"] is not None else row["content_hash"],
                    row["size_bytes"] or 0,
                    us_of(row["mtime"]),
                    us_of(row["ingested_at"]),
                ),
                row["lake_kind"],
                row["status"],
                row["n_runs"],
                row["lake_rows"],
                row["root"],
            )
    return found


def us_of(at: datetime | None) -> int:
    """Microseconds since 1970; 0 where it is unknown."""
    return 0 if at is None else round(at.timestamp() * 1e6)


def table_of(rows: list[dict[str, Any]], now: datetime) -> pa.Table:
    """Rows of `sources` as they stand in a part."""
    import pyarrow as pa

    texts = ("source_id", "path", "root", "format", "content_hash")
    text, whole, us = pa.string(), pa.int64(), pa.timestamp("us", tz="UTC")
    return pa.table(
        {
            **{c: pa.array([r[c] for r in rows], text) for c in texts},
            "size_bytes": pa.array([r["size_bytes"] for r in rows], whole),
            "mtime": pa.array([r["mtime_us"] for r in rows], whole).cast(us),
            "ingested_at": pa.array([now] * len(rows), us),
            "status": pa.array([r["status"] for r in rows], text),
            "n_runs": pa.array([r["n_runs"] for r in rows], whole),
            "lake_kind": pa.array([r["lake_kind"] for r in rows], text),
            # members of an archive keep the order in which they were read
            "lake_order": pa.array([r["lake_order"] for r in rows], whole),
            "lake_seq": pa.array(range(len(rows)), whole),
            "lake_rows": pa.array([r["lake_rows"] for r in rows], whole),
        }
    )


def bare_row(source_id: str, path: str, kind: str) -> dict[str, Any]:
    """The row of a source that has none any more, or of a place that is no source."""
    nothing = ("root", "format", "content_hash", "size_bytes", "mtime_us", "status", "n_runs")
    return dict.fromkeys(nothing) | {
        "source_id": source_id,
        "path": path,
        "lake_kind": kind,
        "lake_order": -1,
        "lake_rows": 0,
    }
