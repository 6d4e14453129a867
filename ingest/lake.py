"""A lake: decoded tables as Parquet files in one folder, written by any number of processes.

    DIR/kbstats-lake.json                    what the folder is, and the columns it was made with
    DIR/<table>/shard=…/<part>.parquet       rows as the decoders gave them, before copies are resolved
    DIR/_parts/shard=…/<part>.json           the part's manifest, written last

A *part* is what one process decoded in one go (some 64 MB of traces). All its Parquet files are
renamed into place before its manifest is, so a part whose writer was killed has no manifest and
never counts. Of a source that stands in several parts the newest counts. Manifests of merged parts
name the parts that they replace, so that a merge takes effect at one rename as well.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbstats.ingest.batch import columns_of
from kbstats.ingest.errors import KbstatsError, UsageError
from kbstats.ingest.rows import ROW_TYPES
from kbstats.ingest.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

_REMOTE = re.compile(r"([a-z][a-z0-9+.-]+):/")
"""Addresses of object stores and catalogues, also as a path has them, with one slash."""
MARK = "kbstats-lake.json"
SCHEMA = "kbstats.lake/1"
PARTS = "_parts"
SOURCES = "sources"
SORT_KEYS = ("run_id", "turn", "seq", "ordinal")
ROW_GROUP = 16_384
"""Rows of one row group. Parts are sorted by run, so that a query for one run reads one group of a file."""

FILE, KEPT, GONE, WALK = "file", "kept", "gone", "walk"
"""What a row of `sources` in a lake says (`lake_kind`): the source as it was read; its new version was
rejected and the old rows stay; it is gone; not a source, but a place that the walk could not enter."""


@functools.cache
def columns_hash() -> str:
    """A hash of all tables' columns: parts of other columns are not read together."""
    text = json.dumps({table: columns_of(table) for table in sorted(ROW_TYPES)})
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Shard:
    """One share of the files, by hash of their unit: a path, or what several files that belong together have.

    Args:
        index: From 0 to `count` - 1.
        count: How many shares there are.
    """

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read `i/n`. `n/n` is `0/n`, so that job arrays which count from 1 cover the same shares.

        Raises:
            UsageError: not two whole numbers with 0 <= i <= n and n >= 1.

        >>> Shard.parse("4/4")
        Shard(index=0, count=4)
        """
        left, slash, right = text.partition("/")
        if not (slash and left.isascii() and left.isdigit() and right.isascii() and right.isdigit()):
            raise UsageError(f"no such shard: {text!r}", hint="--shard 0/4 … 3/4")
        index, count = int(left), int(right)
        if not count or index > count:
            count = count or 1
            raise UsageError(f"no such shard: {text!r}", hint=f"from 0/{count} to {count - 1}/{count}")
        return cls(index % count, count)

    @property
    def name(self) -> str:
        """Its folder's name."""
        return f"shard={self.index:05d}-of-{self.count:05d}"

    def holds(self, path_text: str) -> bool:
        """Whether a file is of this share, as all files of its unit are.

        The same on every machine where the file has this path and this company.
        """
        unit = hashlib.blake2b(unit_of(path_text).encode(), digest_size=8)
        return int.from_bytes(unit.digest()) % self.count == self.index


@dataclass(frozen=True)
class Part:
    """A whole part, as its manifest describes it."""

    name: str
    shard: str
    tables: dict[str, dict[str, int]]
    """Rows and bytes by table."""
    replaces: tuple[str, ...] = ()
    dropped: bool = False
    """Rows of replaced sources were left out when it was made: kernels may be left that nothing mentions."""
    made: dict[str, Any] = field(default_factory=dict)
    """When, of how much, and by which `readers`."""

    @property
    def readers(self) -> str:
        """The fingerprint of the readers that made it (`readers.fingerprint`); empty where there were several."""
        return str(self.made.get("readers", ""))

    @property
    def key(self) -> str:
        """Name within the lake."""
        return f"{self.shard}/{self.name}"


class Lake:
    """The folder.

    Args:
        folder: Where it is or shall be.
    """

    def __init__(self, folder: Path) -> None:
        if (found := _REMOTE.match(str(folder))) is not None:
            extension = "ducklake" if found[1] == "ducklake" else "httpfs"
            raise UsageError(
                f"a lake is a folder; {found[1]}: takes DuckDB's {extension} extension, which is no part of kbstats",
                location=folder,
                hint="mount it or copy it into a folder: docs/scale.md",
            )
        self.folder = Path(os.path.abspath(folder))  # noqa: PTH100  resolve() would follow links

    @classmethod
    def make(cls, folder: Path) -> Lake:
        """Open a lake, or make one of an empty or missing folder.

        Raises:
            KbstatsError: the folder holds something else, or a lake of other columns.
        """
        lake = cls(folder)
        mark = lake.folder / MARK
        if not mark.exists():
            if lake.folder.exists() and not lake.folder.is_dir():
                raise UsageError("a lake is a folder, this is a file", location=folder)
            if lake.folder.is_dir() and any(p.name[0] != "." for p in lake.folder.iterdir()) and not mark.exists():
                raise UsageError("the folder holds other files", location=folder, hint="name a new or empty folder")
            lake.folder.mkdir(parents=True, exist_ok=True)
            write_whole(mark, json.dumps({"schema": SCHEMA, "columns": columns_hash()}).encode())
        return cls.open(folder)

    @classmethod
    def open(cls, folder: Path) -> Lake:
        """Open a lake that is there.

        Raises:
            KbstatsError: there is none, or it has other columns.
        """
        lake = cls(folder)
        try:
            found = json.loads((lake.folder / MARK).read_text(encoding="utf-8"))
            schema, columns = found["schema"], found["columns"]
        except (OSError, ValueError, KeyError, TypeError) as e:
            hint = "`kbstats ingest PATH --shard 0/1 --lake DIR` makes one"
            raise UsageError("no lake", location=folder, hint=hint) from e
        if (schema, columns) != (SCHEMA, columns_hash()):
            hint = "ingest the traces into a new folder"
            raise KbstatsError("the lake was made by a kbstats whose tables differ", location=folder, hint=hint)
        return lake

    def parts(self) -> list[Part]:
        """All whole parts that no other whole part replaces, oldest first."""
        found = [self._part(p) for p in sorted((self.folder / PARTS).glob("shard=*/*.json"))]
        replaced = {key for part in found for key in part.replaces}
        return sorted((p for p in found if p.key not in replaced), key=lambda p: (p.name, p.shard))

    def _part(self, manifest: Path) -> Part:
        try:
            found = json.loads(manifest.read_text(encoding="utf-8"))
            return Part(
                manifest.stem,
                manifest.parent.name,
                found["tables"],
                tuple(found["replaces"]),
                found["dropped"],
                found["made"],
            )
        except (OSError, ValueError, KeyError, TypeError) as e:
            hint = "delete it and ingest its shard again"
            raise KbstatsError(f"a manifest is damaged ({type(e).__name__})", location=manifest, hint=hint) from e

    def file(self, table: str, part: Part) -> Path:
        """Where a part's rows of a table are."""
        return self.folder / table / part.shard / f"{part.name}.parquet"

    def files(self, table: str, parts: Sequence[Part]) -> list[str]:
        """The Parquet files of a table; parts without rows have none."""
        return [str(self.file(table, p)) for p in parts if table in p.tables]

    def commit(
        self,
        shard: str,
        name: str,
        tables: dict[str, pa.Table],
        *,
        made: dict[str, Any],
    ) -> Part:
        """Write one part: its tables, each whole, then its manifest."""
        import pyarrow.parquet as pq

        sizes: dict[str, dict[str, int]] = {}
        for table, rows in tables.items():
            if not rows.num_rows:
                continue
            target = self.folder / table / shard / f"{name}.parquet"
            with whole(target) as tmp:
                pq.write_table(_typed(table, rows), tmp, compression="zstd", row_group_size=ROW_GROUP)
            sizes[table] = {"rows": rows.num_rows, "bytes": target.stat().st_size}
        return self.declare(Part(name, shard, sizes, made=made))

    def declare(self, part: Part) -> Part:
        """Write a part's manifest: from now on it counts."""
        text = json.dumps(
            {"tables": part.tables, "replaces": part.replaces, "dropped": part.dropped, "made": part.made}, indent=1
        )
        write_whole(self.folder / PARTS / part.shard / f"{part.name}.json", text.encode())
        return part

    def sweep(self, shard: str) -> None:
        """Delete what a killed process left of a shard. Only who holds the shard's lock may."""
        whole_parts = {p.stem for p in (self.folder / PARTS / shard).glob("*.json")}
        for path in [*self.folder.glob(f"*/{shard}/*.parquet"), *self.folder.glob(f"*/{shard}/.*.tmp")]:
            if path.suffix == ".tmp" or path.stem not in whole_parts:
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def lock(self, shard: str) -> Iterator[None]:
        """One process a shard; the system lets go of the lock of a killed one.

        Raises:
            KbstatsError: another process writes this shard.
        """
        import fcntl

        folder = self.folder / PARTS / shard
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / ".lock").open("w") as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as e:
                raise KbstatsError(
                    f"another process writes {shard}", location=self.folder, hint="wait for it, or take another shard"
                ) from e
            yield


def _typed(name: str, table: pa.Table) -> pa.Table:
    """The table with its JSON columns marked as such, so that readers need not parse each text to be sure."""
    import pyarrow as pa

    if name == SOURCES:
        return table
    kind = pa.json_(pa.string())
    for _, column, of in columns_of(name):
        if of == "json":
            texts = [pa.ExtensionArray.from_storage(kind, chunk) for chunk in table[column].chunks]
            place = table.column_names.index(column)
            table = table.set_column(place, column, pa.chunked_array(texts, kind))
    return table


@contextlib.contextmanager
def whole(target: Path) -> Iterator[Path]:
    """A file that appears at `target` when it is complete and on disk, or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    tmp = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield tmp
        fd = os.open(tmp, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
        tmp.replace(target)
    finally:
        tmp.unlink(missing_ok=True)


def write_whole(target: Path, data: bytes) -> None:
    """Write a small file, whole or not at all."""
    with whole(target) as tmp:
        tmp.write_bytes(data)
