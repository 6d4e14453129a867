"""Long blocks of text as markup: sources with a line to point at, folded texts, excerpts of errors.

A page has a handful of them and they are most of its bytes, so they are put together here, once, from
text that was cleaned, redacted and escaped; everything else on a page is the templates'.
"""

from __future__ import annotations

from dataclasses import dataclass

from kbstats.site.highlight import lines_in_colour
from kbstats.site.text import fold
from markupsafe import Markup, escape


@dataclass(frozen=True)
class Block:
    """A text cut for display: markup of its head and of what is behind the fold.

    Attributes:
        lines: Lines behind the fold.
        chars: Characters behind the fold.
        size: Characters in all.
    """

    head: Markup
    tail: Markup
    lines: int
    chars: int
    size: int


def block(text: str) -> Block:
    """Cut and escape a text that is fit to be shown."""
    f = fold(text)
    return Block(escape(f.head), escape(f.tail), f.lines, f.chars, len(text))


def lines_of(source: str) -> int:
    """Lines a reader counts."""
    return source.count("\n") + (not source.endswith("\n"))


def numbers(n: int, anchors: str = "") -> Markup:
    """The column of line numbers; with `anchors` each is a link's target: `L12`."""
    if not anchors:
        return Markup("\n".join(map(str, range(1, n + 1))))  # noqa: S704  digits
    return Markup("\n".join(f'<a id="{anchors}{i}" href="#{anchors}{i}">{i}</a>' for i in range(1, n + 1)))  # noqa: S704


def excerpt(source: str, line: int, around: int = 2) -> list[tuple[int, Markup, bool]]:
    """Lines of a source around one of them: (number, markup, whether it is the one)."""
    all_lines = source.split("\n")
    first = max(1, line - around)
    picked = [x[:400] for x in all_lines[first - 1 : line + around]]
    coloured = lines_in_colour("\n".join(picked))
    return [(first + i, Markup(x), first + i == line) for i, x in enumerate(coloured)]  # noqa: S704  escaped
