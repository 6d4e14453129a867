"""The output folder: writes what changed, removes what it wrote before, touches nothing else.

`kbstats-site.json` in the folder is the manifest: each unit of the last build with its key (what it
depends on), its files with their hashes, and what was hidden in them. A file is rewritten only if its
content differs, so times of unchanged files stay and a sync uploads what changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kbstats.ingest.errors import KbstatsError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST = "kbstats-site.json"
FORMAT = 1
_PATH = re.compile(r"(?:[a-z0-9][a-z0-9-]*/){0,2}[a-z0-9][a-z0-9-]*\.(?:html|css|js|txt|csv|parquet|duckdb)")


@dataclass
class Entry:
    """What the manifest keeps of a unit."""

    key: str | None
    files: dict[str, str]
    hidden: dict[str, int] = field(default_factory=dict)


class Folder:
    """A folder that holds one built site.

    Raises:
        UsageError: the folder holds something that is not a site of ours, and `force` is off.
    """

    def __init__(self, root: Path, *, force: bool = False, empty: bool | None = None) -> None:
        self.root = root
        self.written = self.unchanged = self.removed = 0
        self._inside: set[str] = set()
        # Of a new folder nothing has to be compared.
        self.empty = not root.exists() or (root.is_dir() and not any(root.iterdir())) if empty is None else empty
        self.old = self._read_manifest(force=force)
        self._since = _changed(root / MANIFEST)
        self.new: dict[str, Entry] = {}

    def _read_manifest(self, *, force: bool) -> dict[str, Entry]:
        if self.root.exists() and not self.root.is_dir():
            raise UsageError("the output is a file, not a folder", location=self.root, hint="name a folder with -o")
        path = self.root / MANIFEST
        try:
            raw = json.loads(path.read_text(encoding="utf-8"))
            units = {k: Entry(v["key"], dict(v["files"]), dict(v["hidden"])) for k, v in raw["units"].items()}
            if raw.get("format") == FORMAT:
                return units
        except FileNotFoundError:
            pass
        except (ValueError, KeyError, TypeError, AttributeError):
            if not force:
                hint = "use --force to write into it all the same; files of others are left alone"
                raise UsageError("the folder's site manifest is damaged", location=path, hint=hint) from None
        if self.root.is_dir() and any(self.root.iterdir()) and not path.exists() and not force:
            hint = "name an empty folder, or use --force: files of others are left alone"
            raise UsageError("the output folder holds files that are not a kbstats site", location=self.root, hint=hint)
        return {}

    def _target(self, path: str) -> Path:
        """Where a file goes; never outside the folder, through a link either."""
        if not _PATH.fullmatch(path):
            raise KbstatsError("a page has an unsafe file name, which is a bug", location=path)
        target = self.root / path
        folder = path.rpartition("/")[0]
        if folder not in self._inside:
            self._check(target.parent)
            self._inside.add(folder)
        return target

    def _check(self, folder: Path) -> None:
        if not folder.resolve().is_relative_to(self.root.resolve()):
            hint = "remove the link from the output folder"
            raise KbstatsError("a link in the output folder leads outside of it", location=folder, hint=hint)
        folder.mkdir(parents=True, exist_ok=True)

    def fresh(self, unit: str, key: str | None) -> bool:
        """The unit's files of the last build still hold: same key, all there, none touched since."""
        old = self.old.get(unit)
        if key is None or old is None or old.key != key:
            return False
        return all(_PATH.fullmatch(p) and self._same(p, h) for p, h in old.files.items())

    def _same(self, path: str, digest: str) -> bool:
        """A file is as the manifest has it: older than the manifest, which is written last, or of that content."""
        target = f"{self.root}/{path}"
        changed = _changed(target)
        return 0 < changed <= self._since or _hash_of(Path(target)) == digest

    def keep(self, unit: str) -> None:
        """Carry a fresh unit over."""
        self.new[unit] = self.old[unit]
        self.unchanged += len(self.old[unit].files)

    def write(self, unit: str, key: str | None, files: Mapping[str, str | Path], hidden: dict[str, int]) -> None:
        """Write a unit's files where they differ from what is there.

        Args:
            unit: Its name in the manifest.
            key: What it depends on.
            files: Path to content: text, or a file that `scratch` named, which is moved.
            hidden: What was hidden in it, by kind.
        """
        self.new[unit] = Entry(key, self.put(files), hidden)

    def put(self, files: Mapping[str, str | Path]) -> dict[str, str]:
        """Write files where they differ from what is there; their hashes."""
        hashes: dict[str, str] = {}
        for path, content in files.items():
            if isinstance(content, str):
                data = content.encode("utf-8")
                hashes[path] = hashlib.sha256(data).hexdigest()[:32]
                self._put(path, data, hashes[path])
            else:
                hashes[path] = _hash_of(content) or ""
                self._adopt(path, content, hashes[path])
        return hashes

    def scratch(self, path: str) -> Path:
        """Where a large file may be written before it takes its place."""
        target = self._target(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(target.name + ".part")
        part.unlink(missing_ok=True)
        return part

    def _adopt(self, path: str, part: Path, digest: str) -> None:
        target = self._target(path)
        if not target.is_symlink() and _hash_of(target) == digest:
            part.unlink()
            self.unchanged += 1
        else:
            part.replace(target)
            self.written += 1

    def _put(self, path: str, data: bytes, digest: str) -> None:
        target = self._target(path)
        if self.empty:  # nothing to compare with, and nobody reads yet
            try:
                self._create(target, data)
            except FileExistsError:
                pass
            else:
                self.written += 1
                return
        if not target.is_symlink() and _hash_of(target) == digest:
            self.unchanged += 1
            return
        self._replace(target, data)
        self.written += 1

    @staticmethod
    def _replace(target: Path, data: bytes) -> None:
        part = target.with_name(target.name + ".part")
        try:
            Folder._create(part, data)
        except FileExistsError:  # left behind by a build that was killed, or a link
            part.unlink()
            Folder._create(part, data)
        part.replace(target)  # a reader never sees half a page, and a link is replaced, not followed

    @staticmethod
    def _create(path: Path, data: bytes) -> None:
        """Write a file that is not there; a link of that name counts as a file."""
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb", buffering=0) as f:
            rest = memoryview(data)
            while rest:
                rest = rest[f.write(rest) :]

    def close(self, about: dict[str, Any]) -> None:
        """Remove files of the last build that this one has not, then write the manifest."""
        now = {p for e in self.new.values() for p in e.files}
        for path in sorted({p for e in self.old.values() for p in e.files} - now):
            if _PATH.fullmatch(path) and (target := self._target(path)).is_file():
                target.unlink()
                self.removed += 1
                if target.parent != self.root and not any(target.parent.iterdir()):
                    target.parent.rmdir()
        units = {k: {"key": e.key, "files": e.files, "hidden": e.hidden} for k, e in sorted(self.new.items())}
        # Escaped like anything else that a browser may be pointed at.
        lines = [f"{json.dumps(k)}:{json.dumps(v, sort_keys=True)}" for k, v in units.items()]  # a unit a line
        head = json.dumps({"format": FORMAT, **about}, sort_keys=True).removesuffix("}")
        text = f'{head}, "units": {{\n' + ",\n".join(lines) + "\n}}"
        text = text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
        manifest = self.root / MANIFEST
        if not manifest.is_file() or manifest.read_text(encoding="utf-8") != text + "\n":
            self._replace(manifest, (text + "\n").encode())

    @property
    def hidden(self) -> dict[str, int]:
        """What was hidden in this build so far, by kind."""
        total: Counter[str] = Counter()
        for entry in self.new.values():
            total.update(entry.hidden)
        return dict(sorted(total.items()))

    def size_of(self, path: str) -> int:
        """Bytes of one file, 0 where it is not."""
        try:
            return (self.root / path).stat().st_size
        except OSError:
            return 0

    @property
    def size(self) -> int:
        """Bytes of all files of this build."""
        return sum((self.root / p).stat().st_size for e in self.new.values() for p in e.files)


def _changed(path: str | Path) -> int:
    """When a plain file was changed, its name and its metadata included, in nanoseconds; 0 where there is none."""
    try:
        found = Path(path).stat(follow_symlinks=False)
    except OSError:
        return 0
    return max(found.st_mtime_ns, found.st_ctime_ns) if stat.S_ISREG(found.st_mode) else 0


def _hash_of(path: Path) -> str | None:
    try:
        with path.open("rb") as f:
            return hashlib.file_digest(f, "sha256").hexdigest()[:32]
    except OSError:
        return None
