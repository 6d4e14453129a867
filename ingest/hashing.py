"""Hashes of source texts and of files, and what a source text is written in."""

from __future__ import annotations

import hashlib
import re

import xxhash

_CUT = re.compile(
    r"\.\.\. \(\d[\d,]* more chars\)|\[ ?omitted \d[\d,]* characters ?\]|\(truncated [\d,]+ chars?\)|<truncated>\s*$"
)
"""How harnesses and report generators mark that a text was shortened."""


def normalised(text: str) -> str:
    """A source text as it is hashed: CRLF to LF, white space at its end stripped."""
    return (text.replace("\r\n", "\n") if "\r" in text else text).rstrip()


def source_sha256(text: str) -> str:
    """Sha256 of a source text's UTF-8 form after `normalised`; hexadecimal."""
    if "\r" in text or not text.isascii():
        return hashlib.sha256(normalised(text).encode("utf-8", "replace")).hexdigest()
    n = len(text)
    while n and text[n - 1].isspace():
        n -= 1
    return hashlib.sha256(memoryview(text.encode())[:n]).hexdigest()


def is_cut(text: str) -> bool:
    """Whether a text says of itself that a part is missing: then it has no hash."""
    end = text[-64:]  # a mark in the middle says how much was omitted there
    if "omitted" not in text and "more chars" not in end and "truncated" not in end:
        return False
    return bool(_CUT.search(text))


def language(text: str) -> str:
    """The language of a kernel: `triton`, `cuda`, `cpp` or `python`.

    A Python file that carries CUDA source is `cuda`: what runs on the device decides.
    """
    # imports stand at the top; only a text that is no CUDA is searched to its end
    here = text if "__global__" not in text else text[:4000]
    if "triton" in here and (
        "triton.jit" in text or "triton.autotune" in text or ("@jit" in text and "import triton" in text)
    ):
        return "triton"
    if "__global__" in text or "cuda_sources" in text or "<<<" in text:
        return "cuda"
    if "cpp_sources" in text or ("#include" in text and "import torch" not in text):
        return "cpp"
    return "python"


def text_id(*parts: object, n: int = 20) -> str:
    """A short stable id of some values: `n` hexadecimal digits of a sha256."""
    return hashlib.sha256("\x1f".join(map(repr, parts)).encode("utf-8", "backslashreplace")).hexdigest()[:n]


class ContentHash:
    """The xxh3_128 of a file and its companions. It tells change, nothing else."""

    def __init__(self) -> None:
        self._h = xxhash.xxh3_128()

    def add(self, name: str, data: bytes) -> None:
        """Add one file: its name, its length and its bytes."""
        self._h.update(f"{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
        self._h.update(data)

    def hexdigest(self) -> str:
        """The hash of all that was added, in the order it was added."""
        return self._h.hexdigest()
