"""Archives and compressed files: unpacked as a stream, one archive at a time, into a folder that goes again.

`.gz`, `.zst`    one file
`.zip`           stored, deflate or zstd members
`.tar`           also `.tar.gz`, `.tgz`, `.tar.zst`, `.tzst`

A member keeps the folders that it has in the archive, below the archive's own place, so that a run
packed is the same run. Nothing leaves the folder: absolute names, `..`, links and devices are left
out, and so is what exceeds a limit.
"""

from __future__ import annotations

import contextlib
import functools
import gzip
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAME = "archive"
"""The format of an archive's own row in `sources`."""
INSIDE = "!/"
"""Between the archive's path and the member's in the path of a member's source."""
KEPT = frozenset(
    {
        ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".pq", ".yaml", ".yml", ".toml", ".html",
        ".htm", ".eval", ".py", ".cu", ".cpp", ".txt", ".log",
    }
)
"""Suffixes that a format or its companions have; other members are not unpacked."""
MEMBER_BYTES = 1 << 30
"""A member larger than this, decompressed, is left out."""
TOTAL_BYTES = 8 << 30
"""Reading an archive ends here, decompressed."""
MEMBERS = 200_000
"""Reading an archive ends after so many members."""
CHUNK = 1 << 20
_ZSTD = 93
_LOCAL = struct.Struct("<4s22xHH")
_ERRORS = (
    OSError,
    EOFError,
    zlib.error,
    tarfile.TarError,
    zipfile.BadZipFile,
    ValueError,
    RuntimeError,  # of zipfile: the member is encrypted
    NotImplementedError,  # of zipfile: a compression that it does not know
)

Report = Callable[[str, str, str], None]
"""report(code, message, member's name)"""


class TooMuchError(Exception):
    """The archive holds more than is read."""


class Member(NamedTuple):
    """One regular file of an archive, and how to open it."""

    name: str
    size: int | None
    open: Callable[[], IO[bytes]]


def kind_of(name: str) -> str | None:
    """`tar`, `zip`, `gz` or `zst` by a file's name.

    None for a file that is no archive, or one whose content no format reads, such as `core.gz`.
    """
    name = name.lower()
    if name.endswith((".tar", ".tgz", ".tzst", ".tar.gz", ".tar.zst")):
        return "tar"
    if name.endswith(".zip"):
        return "zip"
    stem, _, kind = name.rpartition(".")
    return kind if kind in {"gz", "zst"} and os.path.splitext(stem)[1] in KEPT else None  # noqa: PTH122  a name


def inside(archive: Path, folder: Path) -> Path:
    """Where an archive's members go: its own place, told from `folder`; a single file lies where it lay."""
    own = folder.joinpath(*archive.parent.parts[1:])
    kind = kind_of(archive.name)
    return own if kind in {"gz", "zst"} else own / archive.name.split(".", 1)[0]


def unpack(archive: Path, top: Path, report: Report) -> Iterator[tuple[Path, str]]:
    """Write the members of an archive below `top`; (file, member's name) of each.

    Args:
        archive: The archive.
        top: The folder that stands for the inside of the archive.
        report: Takes what was left out, and why.

    Raises:
        OSError: the archive cannot be read, or there is no room.
    """
    try:
        yield from _unpacked(archive, top, report)
    except TooMuchError:
        report("archive_too_large", "the archive holds more than is read; the rest is left out", "")
    except _ERRORS as e:
        if isinstance(e, OSError) and e.errno is not None:
            raise  # the disk's own words
        report("truncated", f"the archive cannot be read to its end ({str(e)[:120] or type(e).__name__})", "")


def _unpacked(archive: Path, top: Path, report: Report) -> Iterator[tuple[Path, str]]:
    left = TOTAL_BYTES
    for n, member in enumerate(_members(archive)):
        if n >= MEMBERS or left <= 0:
            raise TooMuchError
        if not _is_safe(member.name):
            report("member_path", "its name leads out of the archive; left out", member.name)
        elif os.path.splitext(member.name)[1].lower() in KEPT:  # noqa: PTH122  not a path of ours
            path = top.joinpath(*_parts(member.name))
            size = _write(member, path, min(left, MEMBER_BYTES), report)
            if size is not None:
                left -= size
                yield path, member.name


def _parts(name: str) -> list[str]:
    return [p for p in name.replace("\\", "/").split("/") if p not in {"", "."}]


def _is_safe(name: str) -> bool:
    parts = _parts(name)
    rooted = name.startswith(("/", "\\")) or (len(name) > 1 and name[1] == ":")
    return bool(parts) and not rooted and ".." not in parts and "\0" not in name


def _write(member: Member, path: Path, limit: int, report: Report) -> int | None:
    """Unpack one member; its size, or None where it is left out."""
    if member.size is not None and member.size > MEMBER_BYTES:
        report("member_too_large", f"larger than {MEMBER_BYTES >> 20} MiB; left out", member.name)
        return None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.open("wb")
    except OSError as e:
        if e.errno is not None and os.strerror(e.errno) == "No space left on device":
            raise
        report("member_path", f"cannot be written under its name ({e.strerror})", member.name)
        return None
    with target:
        size, code, why = _copy(member, target, limit)
    if not code:
        return size
    if code == "member_damaged" and size and kind_of(member.name) is None and member.size is None:
        report("truncated", "the compressed file ends early; what there is of it is read", member.name)
        return size
    path.unlink()
    report(code, why, member.name)
    if code == "member_too_large" and limit < MEMBER_BYTES:
        raise TooMuchError
    return None


def _copy(member: Member, target: IO[bytes], limit: int) -> tuple[int, str, str]:
    """Bytes written; an issue's code and words where the member did not come whole."""
    size = 0
    try:
        with contextlib.closing(member.open()) as stream:
            while chunk := stream.read(CHUNK):
                size += len(chunk)
                if size > limit:
                    return size, "member_too_large", "it decompresses to more than is read; left out"
                target.write(chunk)
    except _ERRORS as e:
        if isinstance(e, OSError) and not isinstance(e, gzip.BadGzipFile) and e.errno is not None:
            raise
        return size, *_damage(e)
    return size, "", ""


def _damage(e: Exception) -> tuple[str, str]:
    if isinstance(e, NotImplementedError):
        return "member_method", f"its compression is not known ({str(e)[:80]})"
    if isinstance(e, RuntimeError):
        return "member_encrypted", "it is encrypted"
    return "member_damaged", f"it cannot be decompressed ({str(e)[:100] or type(e).__name__})"


def _members(archive: Path) -> Iterator[Member]:
    kind = kind_of(archive.name)
    if kind == "zip":
        yield from _zipped(archive)
    elif kind == "tar":
        yield from _tarred(archive)
    else:
        name = archive.name.rsplit(".", 1)[0]
        yield Member(name, None, lambda: _decompressed(archive))


def _decompressed(archive: Path) -> IO[bytes]:
    name = archive.name.lower()
    if name.endswith((".zst", ".tzst")):
        import zstandard

        stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(
            archive.open("rb"), read_across_frames=True, closefd=True
        )
        return cast("IO[bytes]", _Plain(stream, zstandard.ZstdError))
    if name.endswith((".gz", ".tgz")):
        return cast("IO[bytes]", gzip.open(archive, "rb"))
    return archive.open("rb")


class _Plain:
    """A stream whose decompressor's own error becomes one that everybody knows."""

    def __init__(self, stream: Any, error: type[Exception]) -> None:
        self._stream, self._error = stream, error

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes.

        Raises:
            EOFError: what is compressed is damaged.
        """
        try:
            return bytes(self._stream.read(size))
        except self._error as e:
            raise EOFError(str(e)) from e

    def close(self) -> None:
        """Close it."""
        self._stream.close()


def _tarred(archive: Path) -> Iterator[Member]:
    with contextlib.closing(_decompressed(archive)) as whole, tarfile.open(fileobj=whole, mode="r|") as tar:
        for info in tar:
            if info.isreg():
                stream = tar.extractfile(info)
                assert stream is not None  # it is a regular file
                yield Member(info.name, info.size, functools.partial(_same, stream))


def _same(stream: IO[bytes]) -> IO[bytes]:
    return stream


def _zipped(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as z:
        last = {info.filename: info for info in z.infolist()}  # a name that comes again replaces the first
        for info in last.values():
            link = (info.external_attr >> 16) & 0o170000 == 0o120000
            if info.is_dir() or link:
                continue
            if info.compress_type == _ZSTD:
                yield Member(info.filename, info.file_size, functools.partial(_zstd_member, archive, info))
            else:
                yield Member(info.filename, info.file_size, functools.partial(z.open, info))


def _zstd_member(archive: Path, info: zipfile.ZipInfo) -> IO[bytes]:
    """A member compressed by zstd, which this Python's zipfile does not read."""
    import zstandard

    file = archive.open("rb")
    file.seek(info.header_offset)
    magic, name_size, extra_size = _LOCAL.unpack(file.read(_LOCAL.size))
    if magic != b"PK\x03\x04" or info.flag_bits & 1:
        file.close()
        raise (RuntimeError("encrypted") if info.flag_bits & 1 else zipfile.BadZipFile("no member there"))
    file.seek(name_size + extra_size, os.SEEK_CUR)
    stream = zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(file, closefd=True)
    return cast("IO[bytes]", _Plain(stream, zstandard.ZstdError))
