"""What an ingest has to do: which files belong to whom, which are as they were, and the tally of it all."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kbstats.ingest import archives, registry, scan
from kbstats.ingest.decoding import Task
from kbstats.ingest.hashing import text_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from kbstats.ingest.format import Format
    from kbstats.ingest.standing import Damaged
    from kbstats.ingest.store import Known

RACY_US = 2_000_000
"""A file changed this shortly before it was read may change again within one tick of its clock."""


@dataclass
class IngestSummary:
    """What an ingest did."""

    seen: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    rejected: int = 0
    partial: int = 0
    removed: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    turns: int = 0
    tool_calls: int = 0
    verifications: int = 0
    copies: int = 0
    links: int = 0
    new_links: bool = False
    """Whether links differ from before."""
    companions: int = 0
    """Files that were read along with others."""
    rejected_before: int = 0
    partial_before: int = 0
    """Files rejected or cut short when they were read, which have not changed since."""
    advice: list[str] = field(default_factory=list)
    """Words on rejected files of a shard, which has no database to ask."""
    damaged: list[Damaged] = field(default_factory=list)
    """The first rejected and partial files, whenever they were read."""
    blocked: list[str] = field(default_factory=list)
    """A line on each folder that cannot be entered."""
    barren: list[str] = field(default_factory=list)
    """A line on each folder in which nothing is recognised."""
    issues: Counter[str] = field(default_factory=Counter)
    bytes_read: int = 0
    files_done: int = 0
    seconds: float = 0.0

    @property
    def wrote(self) -> bool:
        """Whether the database differs from before."""
        return bool(self.new or self.changed or self.removed)

    @property
    def incomplete(self) -> bool:
        """Whether some input was rejected or cut short."""
        return bool(self.n_damaged or self.blocked or self.barren)

    @property
    def n_damaged(self) -> int:
        """Files that are rejected or partial."""
        return self.rejected + self.partial + self.rejected_before + self.partial_before


class Plan:
    """What is to be read, and what need not be."""

    def __init__(
        self, known: dict[str, Known], fmt: Format | None, map_file: Path | None, again: AbstractSet[str] = frozenset()
    ) -> None:
        self.known = known
        self.again = again
        """Sources to be read whatever their files look like: a run of theirs is missing."""
        self.formats = [fmt] if fmt else None
        self.map_file = map_file
        self.tasks: list[Task] = []
        self.present: set[str] = set()
        self.named: set[str] = set()
        self.companions: set[Path] = set()
        self.owned: set[Path] = set()
        self.unclaimed: list[scan.Found] = []
        self.unreadable: dict[Path, str] = {}
        """Files that cannot be looked at and that a format may claim by their names, with the reason."""
        self.members: dict[str, dict[str, Known]] = {}
        for path, source in known.items():
            archive, sign, _ = path.partition(archives.INSIDE)
            if sign:
                self.members.setdefault(archive, {})[path] = source
        self.superseded: list[str] = []
        """Sources on record whose format gives way to another file's."""

    def take(self, found: scan.Found, summary: IngestSummary) -> None:
        """Decide about one file of the walk."""
        text = scan.path_text(found.path)
        if found.named:
            self.named.add(text)
        known = self.known.get(text)
        if known is not None and self._broken(known):
            self.present.add(text)
            summary.unchanged += 1
            return
        fmt = self._format_of(found, known)
        if fmt is not None and known is not None and _gives_way(fmt, found.path):
            self.superseded.append(text_id(text, n=16))
            fmt = None
        if fmt is None and archives.kind_of(found.path.name) is not None:
            self._archive(found, text, known, summary)
            return
        if fmt is None:
            self.unclaimed.append(found)
            return
        self.present.add(text)
        companions = tuple(existing(fmt, found.path))
        self.companions.update(companions)
        if getattr(fmt, "owns_companions", False):
            self.owned.update(companions)
        size, mtime_ns = stats(found, companions)
        mtime_us = mtime_ns // 1000
        again = text in self.again
        same_stat = not again and known is not None and (known.size, known.mtime_us) == (size, mtime_us)
        if same_stat and known is not None and not known.unsure(RACY_US) and not self._forced(known, fmt):
            summary.unchanged += 1
            return
        self.tasks.append(
            Task(
                source_id=text_id(text, n=16),
                path=found.path,
                path_text=text,
                root_text=scan.path_text(found.root),
                format=fmt.name,
                companions=companions,
                size=size,
                mtime_us=mtime_us,
                map_file=self.map_file,
                known=known is not None,
                known_hash=None if known is None or again or self._forced(known, fmt) else known.content_hash,
            )
        )

    def _archive(self, found: scan.Found, text: str, known: Known | None, summary: IngestSummary) -> None:
        """An archive: read again as a whole when it changed, its members then by their content."""
        members = self.members.get(text, {})
        self.present.update((text, *members))
        mtime_us = found.mtime_ns // 1000
        only = self.formats[0].name if self.formats else None
        again = any(p in self.again for p in members)
        same = not again and known is not None and (known.size, known.mtime_us) == (found.size, mtime_us)
        if same and known is not None and not known.unsure(RACY_US) and only is None:
            summary.unchanged += max(1, len(members))
            return
        self.tasks.append(
            Task(
                source_id=text_id(text, n=16),
                path=found.path,
                path_text=text,
                root_text=scan.path_text(found.root),
                format=archives.NAME,
                companions=(),
                size=found.size,
                mtime_us=mtime_us,
                map_file=self.map_file,
                known=known is not None,
                members={
                    p: None if only or p in self.again else k.content_hash
                    for p, k in members.items()
                    if not self._broken(k)
                },
                only=only,
            )
        )

    def _forced(self, known: Known, fmt: Format) -> bool:
        return self.map_file is not None or known.format != fmt.name

    def _broken(self, known: Known) -> bool:
        """The source's format is installed but does not load: what is on record stays as it is."""
        return self.formats is None and known.format in registry.names() and registry.loaded(known.format) is None

    def _format_of(self, found: scan.Found, known: Known | None) -> Format | None:
        if self.formats is None and known is not None and (fmt := registry.loaded(known.format)) is not None:
            return fmt
        if self.formats and found.named:
            return self.formats[0]
        try:
            return registry.sniff(found.path, self.formats)
        except FileNotFoundError:  # it vanished
            return None
        except OSError as e:
            if registry.may_claim(found.path, self.formats):
                self.unreadable[found.path] = e.strerror or type(e).__name__
            return None


def existing(fmt: Format, path: Path) -> list[Path]:
    """A file's companions; none where the format cannot tell."""
    try:
        return sorted(fmt.companions(path))
    except Exception:  # noqa: BLE001  a vanished folder, a broken plug-in: the file itself still counts
        return []


def _gives_way(fmt: Format, path: Path) -> bool:
    asked = getattr(fmt, "gives_way", None)  # a plug-in may be any object
    return bool(asked and asked(path))


def stats(found: scan.Found, companions: Sequence[Path]) -> tuple[int, int]:
    """Size and newest time (ns) of a file and its companions."""
    size, mtime = found.size, found.mtime_ns
    for path in companions:
        with contextlib.suppress(OSError):
            st = path.stat()
            size += st.st_size
            mtime = max(mtime, st.st_mtime_ns)
    return size, mtime
