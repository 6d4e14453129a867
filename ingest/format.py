"""What a trace format is, and the source file it is given.

A format is one module with one object `FORMAT`, named by an entry point of the group
`kbstats.formats`. It answers `sniff(path, head)`, names its companions, and fills a `Batch`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable
    from pathlib import Path

    from kbstats.ingest.batch import Batch

HEAD_BYTES = 4096
"""How much of a file `sniff` sees."""

# What sniff returns. The highest wins; on a tie the format's name that sorts first.
NO = 0
SHAPE = 30  # the content looks like it, no name says so
CONTENT = 60  # a marker in the content that no other format has
NAME = 80  # the file's name is the format's own, whatever the content (damaged files too)
EXACT = 100  # name and content, or a schema's own name in the content


class Source:
    """One file and its companions, read once.

    Args:
        path: Absolute path of the file.
        source_id: Its stable id.
        companions: Files read along with it; they count into its content hash.
    """

    def __init__(self, path: Path, source_id: str, companions: tuple[Path, ...] = ()) -> None:
        self.path = path
        self.source_id = source_id
        self.companions = companions
        self._cache: dict[Path, bytes] = {}

    def read(self, path: Path | None = None) -> bytes:
        """The bytes of the file, or of a companion. Read from disk once.

        Raises:
            OSError: it vanished or cannot be read.
        """
        path = path or self.path
        if path not in self._cache:
            self._cache[path] = path.read_bytes()
        return self._cache[path]

    def companion(self, name: str) -> Path | None:
        """The companion of this file name, if there is one."""
        return next((p for p in self.companions if p.name == name), None)

    def companion_text(self, path: Path, batch: Batch) -> str | None:
        """A companion's text; one that cannot be read is an issue, not a failure."""
        try:
            return self.read(path).decode("utf-8", "replace")
        except OSError as e:
            batch.issue("unreadable_companion", f"cannot be read: {e.strerror or e}", path=str(path))
            return None


class Format:
    """Base of all formats. A plug-in may as well be any object with these attributes."""

    name: str = ""
    suffixes: frozenset[str] | None = None
    """File suffixes it may claim (lower case, with the dot); None: any. Others are never opened for it."""
    pattern: re.Pattern[str] | None = None
    """What the path must end in (`fullmatch` of the path or of the file's name); None: anything."""

    owns_companions: bool = False
    """Its companions are no sources of their own, whatever they look like."""

    def sniff(self, path: Path, head: bytes) -> int:
        """How sure it is that the file is its own: 0 to 100 (`NO` … `EXACT`)."""
        raise NotImplementedError  # each format knows its own files

    def gives_way(self, path: Path) -> bool:  # noqa: ARG002  most formats never do
        """Whether another file now speaks for one that this format has read: its rows go then."""
        return False

    def companions(self, path: Path) -> Iterable[Path]:  # noqa: ARG002  a format without companions
        """Existing files that belong to `path`. Called on every ingest, so it must be cheap."""
        return ()

    def read(self, source: Source, batch: Batch) -> None:
        """Fill the batch. What cannot be read is an issue; an exception rejects the file."""
        raise NotImplementedError  # each format reads its own files
