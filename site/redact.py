"""Hides what a published page must not say (`private.KINDS`); what was hidden is counted by kind, never kept."""

from __future__ import annotations

import functools
import getpass
import re
import socket
from collections import Counter
from typing import TYPE_CHECKING

from kbstats.site.private import KINDS, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

SHORT = 200
"""Characters up to which a text with nothing to hide is remembered: labels, units and names come by the thousand."""
MOST = 20_000
"""Texts that are remembered."""


def _literal(text: str) -> str:
    """A literal for RE2: every other character than letters and digits by its code."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):x}}}" for c in text)


def _replace(kind: Kind, hits: Counter[str]) -> Callable[[re.Match[str]], str]:
    def put(m: re.Match[str]) -> str:
        hits[kind.name] += 1
        name = next((n for n, v in m.groupdict().items() if v is not None and n != "open"), None)
        if name is None:
            return kind.put
        start, end = m.start(name) - m.start(), m.end(name) - m.start()
        return m[0][:start] + kind.put + m[0][end:]

    return put


class Redactor:
    """Hides, and counts what it hid.

    Args:
        enabled: False leaves every text as it is.
        folders: Folders of this machine that sources were read from; their names are hidden too.
        names: Words hidden wherever they stand alone: this machine's and its user's own names.
    """

    def __init__(self, *, enabled: bool = True, folders: Iterable[str] = (), names: Iterable[str] = ()) -> None:
        self.enabled = enabled
        self.hits: Counter[str] = Counter()
        self._clean: set[str] = set()
        own = [
            Kind("folder of the sources", (f.lower(),), re.compile(re.escape(f) + r"(?![\w-])"), "[sources]")
            for f in sorted({f.rstrip("/\\") for f in folders}, key=lambda f: (-len(f), f))
            if len(f) > 3
        ]
        own += [
            Kind(
                "name of this machine or its user",
                (n.lower(),),
                re.compile(rf"(?<![\w-]){re.escape(n)}(?![\w-])"),
                "[name]",
            )
            for n in sorted(set(names))
            if len(n) > 3
        ]
        self.own_words = tuple(k.needles[0] for k in own)
        self._kinds = (*own, *KINDS)
        self._probed = [(k, re.compile(k.probe) if k.probe else None) for k in self._kinds]

    @property
    def scan(self) -> str:
        """An expression (RE2) that finds what may have to be hidden or written out: one pass over whole columns.

        Text that it does not match needs no second look.
        """
        needles = sorted({n for kind in self._kinds for n in kind.needles}) if self.enabled else []
        probes = [kind.probe for kind in self._kinds if kind.probe] if self.enabled else []
        return "(?i)" + "|".join([r"[^\n\t -~]", *map(_literal, needles), *probes])

    def __call__(self, text: str) -> str:
        """The text without what must not be published."""
        if not self.enabled or len(text) < 6 or text in self._clean:
            return text
        low = text.lower()
        found = text
        for kind, probe in self._probed:
            for needle in kind.needles:  # a hundred a text: a generator would cost more than they do
                if needle in low:
                    break
            else:
                if probe is None or not probe.search(low):
                    continue
            found = kind.pattern.sub(_replace(kind, self.hits), found)
        if found is text and len(text) < SHORT:
            if len(self._clean) >= MOST:
                self._clean.clear()
            self._clean.add(text)
        return found

    def take(self) -> dict[str, int]:
        """What was hidden since the last call, by kind."""
        hits = dict(sorted(self.hits.items()))
        self.hits.clear()
        return hits


_PLAIN = Redactor()


@functools.lru_cache(maxsize=4_096)
def spaced(name: str, signs: str = "_") -> str:
    """An id as words. One that holds something to hide stays as it is: in other words it would not be recognised."""
    if _PLAIN(name) != name:
        return name
    return name.translate({ord(c): " " for c in signs})


@functools.lru_cache(maxsize=4_096)
def lowered(text: str) -> str:
    """A text in small letters; as it is where it holds something to hide, as in `spaced`."""
    return text if _PLAIN(text) != text else text.lower()


@functools.lru_cache(maxsize=4_096)
def capital(text: str) -> str:
    """A text with a large first letter; as it is where it holds something to hide, as in `spaced`."""
    return text if _PLAIN(text) != text else text[:1].upper() + text[1:]


@functools.lru_cache(maxsize=4_096)
def parted(name: str, sign: str) -> tuple[str, str]:
    """What stands before and behind a sign in an id. One that holds something to hide stays whole, as in `spaced`."""
    before, _, behind = (name, "", "") if _PLAIN(name) != name else name.partition(sign)
    return before, behind


# Names that say nothing about anybody: hiding them would only damage the text.
_COMMON = {
    "root",
    "user",
    "users",
    "admin",
    "ubuntu",
    "debian",
    "runner",
    "build",
    "builder",
    "nobody",
    "localhost",
    "docker",
    "torch",
    "cuda",
    "triton",
    "python",
    "nvidia",
    "work",
    "data",
    "default",
    "guest",
    "test",
    "home",
    "server",
    "node",
    "host",
    "main",
    "agent",
    "model",
    "kernel",
}


def own_names() -> list[str]:
    """This machine's name and its user's, unless they are everybody's."""
    names = []
    for ask in (getpass.getuser, socket.gethostname):
        try:
            names.append(ask())
        except (OSError, KeyError):
            continue
    return [n for n in names if n.lower() not in _COMMON]
