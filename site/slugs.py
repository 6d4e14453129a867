"""File names from names that anybody may have chosen.

A slug holds `[a-z0-9-]` alone: nothing to quote in a URL, nothing a file system folds, reserves or
walks upwards with. Where anything had to be replaced (a capital letter is enough, since some file
systems do not tell case apart) a hash of the original keeps two names apart.
"""

from __future__ import annotations

import hashlib
import re

MAX = 60
"""Characters of the readable part."""

_UNSAFE = re.compile(r"[^a-z0-9]+")
_HASHED = re.compile(r".*-[0-9a-f]{8}")  # would look like a slug that already carries a hash
# Devices that Windows reserves in every folder, whatever the suffix.
_RESERVED = {"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))}


def digest(text: str) -> str:
    """Eight hexadecimal digits that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def slug(text: str, key: str | None = None) -> str:
    """A safe and unique file name (without suffix).

    Args:
        text: What a person should recognise.
        key: What makes it unique where `text` alone does not; then the hash is always there.

    >>> slug("gpt-5"), slug("../etc").startswith("etc-")
    ('gpt-5', True)
    """
    safe = _UNSAFE.sub("-", text[: 4 * MAX].lower()).strip("-")[:MAX].strip("-")
    if key is None and safe and safe == text and safe not in _RESERVED and not _HASHED.fullmatch(safe):
        return safe
    return f"{safe or 'x'}-{digest(text if key is None else key)}"


class Slugs:
    """The slugs of one folder: the same key gives the same slug, two keys never share one."""

    def __init__(self) -> None:
        self._of: dict[str, str] = {}
        self._taken: set[str] = set()

    def add(self, key: str, text: str, *, hashed: bool = True) -> str:
        """Take a slug for a key; `hashed` puts the key's hash into it in any case."""
        if key in self._of:
            return self._of[key]
        name = slug(text, key if hashed else None)
        n = 1
        while name in self._taken:  # two keys whose hash begins alike
            n += 1
            name = slug(text, f"{key}\0{n}")
        self._taken.add(name)
        self._of[key] = name
        return name

    def __getitem__(self, key: str) -> str:
        return self._of[key]

    def __contains__(self, key: object) -> bool:
        return key in self._of
