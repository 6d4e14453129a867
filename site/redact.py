"""What a published page must not say: private paths, names of people and machines, addresses, secrets.

Each kind has literal needles that must occur before its expression is tried: most text holds none of
them, and a search for a literal runs at memory speed. What was hidden is counted by kind, never kept.
"""

from __future__ import annotations

import getpass
import re
import socket
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True)
class Kind:
    """One kind of thing to hide.

    Attributes:
        name: What the report calls it.
        needles: Literals of which one must occur (compared in lower case).
        pattern: What is hidden: the group `secret` where there is one, else the whole match.
        put: What stands in its place.
    """

    name: str
    needles: tuple[str, ...]
    pattern: re.Pattern[str]
    put: str


_SEP = r"(?:/|\\{1,4})"
_SEG = r"[^\s/\\:;,'\"`<>|()\[\]{}=]+"
_ROOTS = r"(?:home|users|scratch|export/home|usr/home|var/home|data/home|nfs/home|gpfs/home|lustre/home|workspace/home)"
# Common top-level domains only: `x@self.weight` and `h @ w.to(…)` are matrix products.
_TLD = (
    r"(?:com|org|net|edu|gov|mil|io|ai|dev|app|co|info|biz|cloud|tech"
    r"|de|uk|fr|ch|at|nl|be|se|dk|fi|pl|cz|es|pt|ru|cn|jp|kr|in|au|nz|ca|br|mx|eu|us)"
)
_END = r"(?![A-Za-z0-9])"
_HOME_FILES = r"(?:/root|/mnt/[^\s/\\:'\"`<>]+|/lustre/[^\s/\\:'\"`<>]+|/gpfs/[^\s/\\:'\"`<>]+|/nfs/[^\s/\\:'\"`<>]+)"


def _kind(name: str, needles: str, pattern: str, put: str, flags: int = 0) -> Kind:
    return Kind(name, tuple(needles.split()), re.compile(pattern, flags), put)


KINDS: tuple[Kind, ...] = (
    _kind(
        "private key",
        "-----begin",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
        "[private key]",
    ),
    _kind("password in a URL", "://", r"(?<=://)[^\s/@:'\"<>]*:[^\s/@'\"<>]+(?=@)", "[credentials]"),
    _kind(
        "token",
        "sk- sk_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- hf_ akia asia xox aiza "
        "npm_ pypi- ya29. eyj dckr_pat_ r8_ gsk_ nvapi- xai- pplx- tgp_ dop_v1_",
        r"(?<![A-Za-z0-9])(?:"
        r"sk-(?:ant-|proj-|or-v1-|svcacct-|admin-)?(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}"
        r"|sk_(?:live|test)_[A-Za-z0-9]{10,}"
        r"|gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}"
        r"|hf_(?=[A-Za-z]*\d|[a-z]*[A-Z])[A-Za-z0-9]{20,}"
        r"|(?:AKIA|ASIA)[A-Z0-9]{12,}"
        r"|xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}"
        r"|AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}"
        r"|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|dckr_pat_[A-Za-z0-9_-]{20,}|dop_v1_[a-f0-9]{32,}"
        r"|r8_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{30,}|xai-[A-Za-z0-9]{30,}"
        r"|pplx-[A-Za-z0-9]{30,}|tgp_v1_[A-Za-z0-9_-]{20,}"
        r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
        r")" + _END,
        "[token]",
    ),
    _kind(
        "bearer token",
        "bearer basic",
        r"\b(?:bearer|basic)\s+(?P<secret>(?=[A-Za-z._~+/-]*\d)[A-Za-z0-9._~+/=-]{12,})",
        "[token]",
        re.IGNORECASE,
    ),
    _kind(
        "secret in a setting",
        "key token secret passw",
        r"(?<![A-Za-z0-9])[A-Za-z0-9_]*(?:api_?key|access_?key(?:_id)?|secret(?:_key|_access_key)?|auth_?token|_token|password|passwd)"
        r"[\"']?\s{0,3}(?:=|:)\s{0,3}[\"']?(?P<secret>(?=[A-Za-z0-9_\-./+]*\d)(?=[0-9_\-./+]*[A-Za-z])[A-Za-z0-9_\-./+=]{12,})",
        "[secret]",
        re.IGNORECASE,
    ),
    _kind(
        "e-mail address",
        "@",
        r"(?<![A-Za-z0-9._%+-])(?!git@)[A-Za-z0-9._%+-]+@(?:[A-Za-z0-9-]+\.)+" + _TLD + r"(?![A-Za-z0-9(_])",
        "[e-mail]",
        re.IGNORECASE,
    ),
    _kind(
        "home folder",
        "home users scratch",
        r"(?:\b[a-z]:)?" + _SEP + _ROOTS + _SEP + r"(?:users/)?" + _SEG,
        "[home]",
        re.IGNORECASE,
    ),
    _kind("private mount", "/root /mnt/ /lustre/ /gpfs/ /nfs/", r"(?<![\w.-])" + _HOME_FILES + r"(?![\w-])", "[mount]"),
    _kind(
        "host name",
        ".internal .local .cluster .lan .corp .intra hostname ip-",
        r"(?<![\w.@-])(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:internal|local|cluster|lan|corp|intra)(?![\w(-])"
        r"|\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}\b"
        r"|\bhostname[\"']?\s{0,2}[=:]\s{0,2}[\"']?(?P<secret>[A-Za-z0-9][A-Za-z0-9.-]{2,})",
        "[host]",
        re.IGNORECASE,
    ),
    _kind(
        "private address",
        "10. 192.168. 172.",
        r"(?<![\w.])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}(?=:\d{2,5}\b)"
        r"|(?:(?<=//)|(?<=@)|(?<=addr=)|(?<=host=))(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3}",
        "[address]",
    ),
    _kind(
        "user name",
        "user= user: username logname= @",
        r"(?<![A-Za-z0-9_])(?:user|username|logname)[\"']?=[\"']?(?P<secret>[A-Za-z_][\w.-]{2,})"
        r"|(?<![\w.@])(?P<prompt>[a-z_][a-z0-9_-]{1,31}@[a-z][a-z0-9.-]{1,62})(?=:[~/][^\n]{0,200}[$#])",
        "[user]",
        re.IGNORECASE,
    ),
)
"""Kinds in the order in which they are hidden."""


def _literal(text: str) -> str:
    """A literal for RE2: every other character than letters and digits by its code."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\x{{{ord(c):x}}}" for c in text)


def _replace(kind: Kind, hits: Counter[str]) -> Callable[[re.Match[str]], str]:
    def put(m: re.Match[str]) -> str:
        groups = m.groupdict()
        for name in ("secret", "prompt"):
            if groups.get(name) is not None:
                hits[kind.name] += 1
                start, end = m.start(name) - m.start(), m.end(name) - m.start()
                return m[0][:start] + kind.put + m[0][end:]
        hits[kind.name] += 1
        return kind.put

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

    @property
    def scan(self) -> str:
        """An expression (RE2) that finds what may have to be hidden or written out: one pass over whole columns.

        Text that it does not match needs no second look.
        """
        needles = sorted({n for kind in self._kinds for n in kind.needles}) if self.enabled else []
        return "(?i)" + "|".join([r"[^\n\t -~]", *map(_literal, needles)])

    def __call__(self, text: str) -> str:
        """The text without what must not be published."""
        if not self.enabled or len(text) < 6 or text in self._clean:
            return text
        low = text.lower()
        found = text
        for kind in self._kinds:
            if any(n in low for n in kind.needles):
                found = kind.pattern.sub(_replace(kind, self.hits), found)
        if found is text and len(text) < 200 and len(self._clean) < 200_000:
            self._clean.add(text)  # labels, units and names come by the thousand
        return found

    def take(self) -> dict[str, int]:
        """What was hidden since the last call, by kind."""
        hits = dict(sorted(self.hits.items()))
        self.hits.clear()
        return hits


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
