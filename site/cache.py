"""What is worth keeping from one build to the next: compiled templates, and charts by what they draw.

The folder is `$KBSTATS_CACHE`, else `kbstats` in `$XDG_CACHE_HOME`, else in `~/.cache`; an empty `$KBSTATS_CACHE`
keeps nothing. A value's name is a hash of all it depends on, so nothing goes stale; a folder that cannot be read or
written, or a value that somebody damaged, costs time and changes nothing. The folder belongs to the user alone, as
compiled code of an interpreter does.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
from pathlib import Path

import jinja2

_SUM = 32


@functools.cache
def folder() -> Path | None:
    """The folder; made, for the user alone, where it is not there. None where nothing is kept."""
    named = os.environ.get("KBSTATS_CACHE")
    if named == "":
        return None
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expandvars("$HOME/.cache")
    path = Path(named or Path(base) / "kbstats")
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        mine = path.stat().st_uid == os.getuid() if hasattr(os, "getuid") else True
    except OSError:
        return None
    return path if mine and path.is_absolute() else None


def _file(kind: str, *parts: str | bytes) -> Path | None:
    where = folder()
    h = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        h.update(len(data).to_bytes(8, "big") + data)
    return where / f"{kind}-{h.hexdigest()[:40]}" if where else None


def get(kind: str, *parts: str | bytes) -> bytes | None:
    """What was kept under a kind and whatever it depends on."""
    path = _file(kind, *parts)
    try:
        data = path.read_bytes() if path else b""
    except OSError:
        return None
    kept, value = data[:_SUM], data[_SUM:]
    return value if len(kept) == _SUM and kept == hashlib.sha256(value).digest() else None


def put(value: bytes, kind: str, *parts: str | bytes) -> None:
    """Keep a value; a reader never sees half of it."""
    path = _file(kind, *parts)
    if path is None:
        return
    part = path.with_name(f"{path.name}.{os.getpid()}")
    with contextlib.suppress(OSError):
        part.write_bytes(hashlib.sha256(value).digest() + value)
        part.replace(path)


class Compiled(jinja2.BytecodeCache):
    """Compiled templates: in memory for the sites of this process, on disk for the next one."""

    def __init__(self, *depends: str) -> None:
        self._code: dict[str, bytes] = {}
        self._depends = depends

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Fill a bucket; the bucket itself refuses code of another jinja or Python."""
        code = self._code.get(bucket.key + bucket.checksum)
        code = code or get("template", bucket.key, bucket.checksum, *self._depends)
        if code is not None:
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        """Keep a bucket."""
        code = bucket.bytecode_to_string()
        self._code[bucket.key + bucket.checksum] = code
        put(code, "template", bucket.key, bucket.checksum, *self._depends)
