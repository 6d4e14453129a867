"""Members of an evaluation log's zip archive: stored, deflate and zstd, each read up to a limit.

Python's own zipfile reads the directory of every archive, but decompresses zstd (method 93) only in
recent versions. Sizes in the directory are claims: what counts is what comes out.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

STORED, DEFLATE, ZSTD = 0, 8, 93
MEMBER_BYTES = 256 << 20
"""A sample larger than this is left out."""
TOTAL_BYTES = 4 << 30
"""What an archive may hold in all, decompressed."""
_CHUNK = 1 << 20
_LOCAL = struct.Struct("<4s22xHH")


class MemberError(Exception):
    """A member that cannot be read.

    Args:
        code: An issue's code.
        message: What is wrong.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Archive:
    """A zip archive in memory.

    Args:
        data: The file's bytes.
        member_bytes: Limit for one member, decompressed.
        total_bytes: Limit for all members read, decompressed.

    Raises:
        MemberError: it is no archive, or its directory is missing: the file was cut short.
    """

    def __init__(self, data: bytes, *, member_bytes: int = MEMBER_BYTES, total_bytes: int = TOTAL_BYTES) -> None:
        self._data, self._member_bytes, self._left = data, member_bytes, total_bytes
        if not data:
            raise MemberError("empty_file", "the file is empty")
        if not data.startswith(b"PK"):
            raise MemberError("not_zip", "the file is no zip archive")
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                # of two members of one name the later one counts: a log is appended to
                self._members = {info.filename: info for info in archive.infolist()}
        except Exception as e:
            raise MemberError("truncated", f"the archive's directory cannot be read ({str(e)[:120]})") from e

    def names(self) -> list[str]:
        """Names of all members, in the order of the directory."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """One member, decompressed.

        Raises:
            MemberError: too large, damaged, encrypted, or compressed in another way.
            KeyError: there is none of this name.
        """
        info = self._members[name]
        limit = min(self._member_bytes, self._left)
        if info.flag_bits & 1:
            raise MemberError("member_encrypted", f"{name[:100]} is encrypted")
        if info.file_size > self._member_bytes:
            raise MemberError("member_too_large", f"{name[:100]} claims {info.file_size} bytes; left out")
        raw = self._raw(info, name)
        out = bytearray()
        try:
            for chunk in _chunks(raw, info.compress_type):
                out += chunk
                if len(out) > limit:
                    break
        except MemberError:
            raise
        except Exception as e:
            raise MemberError("member_damaged", f"{name[:100]} cannot be decompressed ({str(e)[:100]})") from e
        self._left -= min(len(out), self._left)
        if len(out) > limit:
            whole = limit < self._member_bytes
            raise MemberError(
                "archive_too_large" if whole else "member_too_large",
                "the archive holds more than is read; the rest is left out" if whole
                else f"{name[:100]} decompresses to more than {self._member_bytes} bytes; left out",
            )
        if zlib.crc32(out) != info.CRC:
            raise MemberError("member_damaged", f"{name[:100]} does not match its checksum")
        return bytes(out)

    def _raw(self, info: zipfile.ZipInfo, name: str) -> bytes:
        """The compressed bytes: behind the member's own header, whose name and extra field it repeats."""
        head = self._data[info.header_offset : info.header_offset + _LOCAL.size]
        if len(head) < _LOCAL.size:
            raise MemberError("member_damaged", f"{name[:100]} lies outside the file")
        magic, name_size, extra_size = _LOCAL.unpack(head)
        start = info.header_offset + _LOCAL.size + name_size + extra_size
        raw = self._data[start : start + info.compress_size]
        if magic != b"PK\x03\x04" or len(raw) < info.compress_size:
            raise MemberError("member_damaged", f"{name[:100]} is not where the directory says")
        return raw


def _chunks(raw: bytes, method: int) -> Iterator[bytes]:
    if method == STORED:
        yield raw
    elif method == DEFLATE:
        inflate = zlib.decompressobj(-15)
        pending = raw
        while not inflate.eof:
            out = inflate.decompress(pending, _CHUNK)
            pending = inflate.unconsumed_tail
            if not out and not pending:
                break
            yield out
    elif method == ZSTD:
        import zstandard

        with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(raw), read_across_frames=True) as stream:
            while out := stream.read(_CHUNK):
                yield out
    else:
        raise MemberError("member_method", f"compression method {method} is not known")
