"""What changed between two kernels: a line diff, and its markup with the unchanged stretches folded.

Kernels are edits of each other, and a site holds thousands of pairs. Lines that stand once in both
sources and in the same order anchor the comparison (patience diff, B. Cohen); only what lies between
anchors is compared line by line, which for an edited kernel is next to nothing.
"""

from __future__ import annotations

import difflib
import functools
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbstats.site.highlight import lines_in_colour
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

REWRITTEN = 0.6
"""Share of changed lines beyond which a kernel was written anew: its source says more than a diff."""
MOST_LINES = 6_000
"""Lines of both beyond which two kernels are not compared."""
GAP = 400
"""Lines of both between two anchors up to which they are compared one by one; longer gaps count as replaced."""
CONTEXT = 3
"""Unchanged lines shown around a change."""
FOLD = 6
"""Unchanged lines from which a stretch is folded."""
COLOURED = 40
"""Changed lines up to which their words are coloured; where more changed, colour says nothing."""

Op = tuple[int, int, int, int]
"""A changed stretch: lines [i1, i2) of the old source became lines [j1, j2) of the new one."""


@dataclass(frozen=True)
class Changes:
    """A kernel against the one before: lines of both, and the stretches that differ."""

    old: list[str]
    new: list[str]
    ops: list[Op]

    @functools.cached_property
    def added(self) -> int:
        """Lines that are new."""
        return sum(j2 - j1 for _, _, j1, j2 in self.ops)

    @functools.cached_property
    def removed(self) -> int:
        """Lines that are gone."""
        return sum(i2 - i1 for i1, i2, _, _ in self.ops)


def compare(old: str, new: str) -> Changes | None:
    """What changed; None where one was written anew, or where they are too long to compare."""
    a, b = old.split("\n"), new.split("\n")
    if len(a) + len(b) > MOST_LINES:
        return None
    found = Changes(a, b, list(_merged(_ops(a, b, (0, len(a), 0, len(b))))))
    return None if found.added + found.removed > REWRITTEN * (len(a) + len(b)) else found


def _merged(ops: Iterator[Op]) -> Iterator[Op]:
    """Stretches that touch are one."""
    last: Op | None = None
    for op in ops:
        if last is not None and (last[1], last[3]) == (op[0], op[2]):
            last = (last[0], op[1], last[2], op[3])
        else:
            if last is not None:
                yield last
            last = op
    if last is not None:
        yield last


def _ops(a: list[str], b: list[str], within: Op) -> Iterator[Op]:
    """Changed stretches within one, in order."""
    i, i_end, j, j_end = rest = _trimmed(a, b, within)
    if i == i_end or j == j_end or set(a[i:i_end]).isdisjoint(b[j:j_end]):
        if i < i_end or j < j_end:
            yield rest
    elif chain := _anchors(a, b, rest):
        for x, y in (*chain, (i_end, j_end)):
            if a[i:x] != b[j:y]:
                yield from _ops(a, b, (i, x, j, y))
            i, j = x + 1, y + 1
    elif i_end - i + j_end - j > GAP:
        yield rest
    else:
        matcher = difflib.SequenceMatcher(None, a[i:i_end], b[j:j_end], autojunk=False)
        for tag, p, p_end, q, q_end in matcher.get_opcodes():
            if tag != "equal":
                yield i + p, i + p_end, j + q, j + q_end


def _trimmed(a: list[str], b: list[str], within: Op) -> Op:
    """A stretch without what is the same at its beginning and its end."""
    i, i_end, j, j_end = within
    while i < i_end and j < j_end and a[i] == b[j]:
        i, j = i + 1, j + 1
    while i < i_end and j < j_end and a[i_end - 1] == b[j_end - 1]:
        i_end, j_end = i_end - 1, j_end - 1
    return i, i_end, j, j_end


def _anchors(a: list[str], b: list[str], within: Op) -> list[tuple[int, int]]:
    """Lines that stand once in both stretches, as the longest chain that is in order in both (patience sort)."""
    once = _once(b, *within[2:])
    pairs = [(x, once[line]) for line, x in _once(a, *within[:2]).items() if line in once]
    tails: list[int] = []  # the lowest end of a chain of each length, and which pair that is
    which: list[int] = []
    before: list[int] = []
    for n, (_, y) in enumerate(pairs):
        k = bisect_left(tails, y)
        before.append(which[k - 1] if k else -1)
        tails[k : k + 1], which[k : k + 1] = [y], [n]
    out = []
    n = which[-1] if which else -1
    while n >= 0:
        out.append(pairs[n])
        n = before[n]
    return out[::-1]


def _once(lines: list[str], start: int, end: int) -> dict[str, int]:
    """Lines that stand once in a stretch, with their place, in order."""
    at: dict[str, int] = {}
    again = set()
    for n in range(start, end):
        line = lines[n]
        if line in at:
            again.add(line)
        else:
            at[line] = n
    return {line: n for line, n in at.items() if line not in again} if again else at


def markup(changes: Changes, page: str = "", marks: Collection[int] = (), name: str = "") -> Markup:
    """The whole new source with what changed marked; unchanged stretches are folded.

    What is gone stands in `<del>`, which the style sheet keeps out of a selection: what a reader copies is the
    new source.

    Args:
        changes: The comparison; both sources are text fit to be shown.
        page: Where the whole source stands, from this page; then folded stretches are links to it.
        marks: Lines to point at, from 1: never folded, each with the id `{name}-L{line}`.
        name: What those ids begin with.
    """
    lines = str(escape("\n".join(changes.new))).split("\n")
    coloured = changes.added + changes.removed <= COLOURED
    if coloured:
        for _, _, j1, j2 in changes.ops:
            lines[j1:j2] = lines_in_colour("\n".join(changes.new[j1:j2])) if j2 > j1 else []
    ops = changes.ops
    for line in marks:
        lines[line - 1] = f'<mark id="{name}-L{line}">{lines[line - 1]}</mark>'
    if marks:  # a mark within an unchanged stretch is a change of nothing: lines around it are shown
        inside = [m - 1 for m in marks if not any(j1 < m <= j2 for _, _, j1, j2 in ops)]
        ops = sorted([*ops, *((0, 0, m, m) for m in inside)], key=lambda op: op[2])
    words = "unchanged" if changes.ops else "more"
    out = ["<pre>"]
    done = 0
    for n, (i1, i2, j1, j2) in enumerate(ops):
        out += _unchanged(lines, (done, j1), (n > 0, True), words, page)
        if i2 > i1:
            gone = "\n".join(changes.old[i1:i2])
            out.append(f"<del>{chr(10).join(lines_in_colour(gone)) if coloured else escape(gone)}\n</del>")
        if j2 > j1:
            out.append(f"<ins>{_lines(lines[j1:j2])}</ins>")
        done = j2
    out += _unchanged(lines, (done, len(lines)), (bool(ops), False), words, page)
    out.append("</pre>")
    return Markup("".join(out))  # noqa: S704  every line is escaped


def source(text: str, marks: Collection[int], name: str) -> Markup:
    """A source that is compared with none: its lines around the marked ones, the others folded."""
    return markup(Changes([], text.split("\n"), []), "", marks, name)


def _lines(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


def _unchanged(
    lines: list[str], stretch: tuple[int, int], near: tuple[bool, bool], words: str, page: str
) -> Iterator[str]:
    """Lines as they are; of a long stretch only those near a change before or behind it, the others folded."""
    start, end = stretch
    head, tail = start + CONTEXT * near[0], end - CONTEXT * near[1]
    if tail - head < FOLD:
        if end > start:
            yield _lines(lines[start:end])
        return
    if head > start:
        yield _lines(lines[start:head])
    if page:
        yield f'</pre><p class="fold"><a href="{escape(page)}#L{head + 1}">{tail - head} {words} lines</a></p><pre>'
    else:
        folded = _lines(lines[head:tail])
        yield f"</pre><details><summary>{tail - head} {words} lines</summary><pre>{folded}</pre></details><pre>"
    if end > tail:
        yield _lines(lines[tail:end])
