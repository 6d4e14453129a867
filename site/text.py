"""Foreign text made fit to be looked at: escapes stripped, invisible characters shown, long parts folded.

Everything a trace holds was written by a model, a compiler or a stranger. It may recolour a terminal,
reorder a line (bidi marks), hide in zero width or stand in one line of ten megabytes. What comes out
of here is plain text in which nothing is invisible; escaping for HTML is the template engine's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Escape sequences as ECMA-48 has them: CSI (SGR colours among them), OSC up to its terminator, the rest.
_ESCAPE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]*[0-~]"
)

# Shown by name: C0 and C1 controls, soft hyphen, bidi and zero-width marks, separators that scripts
# take for line ends, tag characters, interlinear marks, non-characters. Tab and line feed are text.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\U000e0000-\U000e0fff"
    "\ud800-\udfff]"
)

_PLAIN = re.compile(r"[\n\t -~]*")  # ASCII without controls: most text, and nothing to do

FOLD_LINES = 40
"""A block of more lines than this is folded behind its first ones."""
FOLD_CHARS = 4_000
"""The same for characters: a single line can be long too."""


def _name(m: re.Match[str]) -> str:
    code = ord(m[0])
    if code < 0x20:
        return chr(0x2400 + code)  # the control pictures: ␀ ␇ ␛
    return "␡" if code == 0x7F else f"⟦U+{code:04X}⟧"


def visible(text: str) -> str:
    r"""Text without escape sequences in which every other hidden character is written out.

    >>> visible("a\x1b[31mb\u202e")
    'ab⟦U+202E⟧'
    """
    if _PLAIN.fullmatch(text):
        return text
    text = _ESCAPE.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # progress bars overwrite their line
    return _HIDDEN.sub(_name, text)


def one_line(text: str, limit: int = 160) -> str:
    """The first words of a text on one line, for titles and table cells."""
    flat = " ".join(text[: 4 * limit].split())
    return flat if len(flat) <= limit and len(text) <= 4 * limit else flat[: limit - 1].rstrip() + "…"


class Clean(str):
    """Text in which a scan of the database found nothing to hide and nothing to write out."""

    __slots__ = ()


@dataclass(frozen=True)
class Folded:
    """A block cut in two: what is seen at once, and the rest behind a fold. `head + tail` is the text."""

    head: str
    tail: str

    @property
    def lines(self) -> int:
        """Lines behind the fold."""
        return self.tail.count("\n") + (not self.tail.endswith("\n")) if self.tail else 0

    @property
    def chars(self) -> int:
        """Characters behind the fold."""
        return len(self.tail)


def fold(text: str, lines: int = FOLD_LINES, chars: int = FOLD_CHARS) -> Folded:
    r"""Cut a text for display; nothing is lost.

    >>> fold("a\nb\nc\n", lines=2, chars=8)
    Folded(head='a\nb\n', tail='c\n')
    """
    end = 0
    for _ in range(lines):
        nxt = text.find("\n", end)
        if nxt < 0:
            end = len(text)
            break
        end = nxt + 1
        if end > chars:
            break
    if end > chars:
        # Prefer a line end inside the budget; a single huge line is cut in the middle.
        at = text.rfind("\n", 0, chars)
        end = at + 1 if at > chars // 2 else chars
    if len(text) - end < chars // 8:  # not worth a click
        end = len(text)
    return Folded(text[:end], text[end:])
