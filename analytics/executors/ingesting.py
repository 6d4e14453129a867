"""An ingest cut into tasks: functions on plain dictionaries, which any engine can carry to another machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kbstats.analytics.executors import Engine
    from kbstats.ingest.plan import IngestSummary


def ingest_shard(spec: dict[str, Any]) -> IngestSummary:
    """Decode one share of the files into a lake."""
    from kbstats.ingest import lake_write
    from kbstats.ingest.lake import Shard

    return lake_write.ingest_shard(
        [Path(p) for p in spec["paths"]],
        Path(spec["lake"]),
        Shard(spec["index"], spec["count"]),
        format=spec["format"],
        map_file=Path(spec["map_file"]) if spec["map_file"] else None,
        prune=spec["prune"],
    )


def ingest(
    engine: Engine,
    paths: Sequence[Path],
    lake: Path,
    shards: int,
    *,
    format: str | None = None,  # noqa: A002  the name of the option
    map_file: Path | None = None,
    prune: bool = False,
) -> IngestSummary:
    """Decode all files into a lake, one task a shard.

    Returns:
        The sum of all shards' counts.

    Raises:
        KbstatsError: a shard was lost in every try; what the others wrote stays, and a rerun goes on.
    """
    import dataclasses

    from kbstats.analytics.executors import run_all
    from kbstats.ingest import registry, scan
    from kbstats.ingest.errors import KbstatsError
    from kbstats.ingest.lake import Lake
    from kbstats.ingest.plan import IngestSummary

    if format is not None:
        registry.load(format)  # a name that is off is told of here, once
    made = Lake.make(lake)
    specs = [
        {
            "paths": [str(scan.absolute(p)) for p in paths],
            "lake": str(made.folder),
            "index": i,
            "count": shards,
            "format": format,
            "map_file": str(scan.absolute(map_file)) if map_file else None,
            "prune": prune,
        }
        for i in range(shards)
    ]
    found, lost = run_all(engine, ingest_shard, specs)
    if lost:
        raise KbstatsError(
            f"{len(lost)} of {shards} shards were lost ({lost[0]})", location=lake, hint="run the same command again"
        )
    total = IngestSummary()
    for one in found:
        for f in dataclasses.fields(IngestSummary):
            setattr(total, f.name, getattr(total, f.name) + getattr(one, f.name))
    return total
