"""How every reading command prints: one list of records as table, JSON, CSV or Markdown.

Data goes to stdout, everything else to stderr. JSON has NULL for what is unknown and never NaN.
"""

from __future__ import annotations

import math
import os
import re
import sys
import textwrap
import unicodedata
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


class Format(StrEnum):
    """Output formats of the reading commands."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


# C0 and C1 controls, marks that reorder text or cannot be seen: a trace's text must not drive a terminal.
_UNSEEN = r"\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff"
_CONTROL = re.compile(rf"[\x00-\x08{_UNSEEN}]")
_IN_LINE = re.compile(rf"[\x00-\x1f{_UNSEEN}]")
_BREAK = re.compile(r"[\t-\r\x85\u2028\u2029]+")


def plain(text: str) -> str:
    """Text with control and reordering characters made visible as escapes."""
    return _CONTROL.sub(_escape, text)


def plain_line(text: str) -> str:
    """The same of what stands on one line: a name with a line's end in it begins no other."""
    return _IN_LINE.sub(_escape, text)


def _escape(m: re.Match[str]) -> str:
    return f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}"


@dataclass(frozen=True)
class Column:
    """One column of the printed table: where it comes from and how it reads."""

    key: str
    title: str
    show: Callable[[Any], str] = lambda v: "" if v is None else str(v)
    right: bool = False


def number(digits: int = 2, *, suffix: str = "", scale: float = 1.0) -> Callable[[Any], str]:
    """A formatter for numbers; unknown is an en dash."""

    def show(v: Any) -> str:
        return "–" if v is None else f"{v * scale:,.{digits}f}{suffix}"

    return show


def place(row: Mapping[str, Any]) -> str:
    """A problem in a few characters: `L3 P11`; where a suite has no levels or no numbers, its name."""
    level, number = row.get("level"), row.get("problem_id")
    parts = [*([] if level is None else [f"L{level}"]), *([] if number is None else [f"P{number}"])]
    name = row.get("problem_name")
    return " ".join(parts) if number is not None or not name else str(name)


def rows_of(con_result: Any) -> list[dict[str, Any]]:
    """A DuckDB result as a list of records."""
    names: list[str] = []
    for name, *_ in con_result.description:  # a query may name two columns alike
        n = sum(k == name or re.fullmatch(rf"{re.escape(name)}_\d+", k) is not None for k in names)
        names.append(name if name not in names else f"{name}_{n + 1}")
    return [dict(zip(names, row, strict=True)) for row in con_result.fetchall()]


def _jsonable(v: Any) -> Any:
    if isinstance(v, float) and not math.isfinite(v):
        return None
    if isinstance(v, dict):
        return {k: _jsonable(x) for k, x in v.items()}
    if isinstance(v, (list, tuple)):
        return [_jsonable(x) for x in v]
    if hasattr(v, "isoformat"):
        return v.isoformat()
    if isinstance(v, (bytes, bytearray)):
        return v.hex()
    if hasattr(v, "as_tuple"):  # a decimal
        v = int(v) if v == int(v) else float(v)
    return v if isinstance(v, (str, int, float, bool, type(None))) else str(v)


def to_json(records: Any) -> str:
    """JSON text; dates in ISO form, non-finite numbers as null."""
    import json

    return json.dumps(_jsonable(records), ensure_ascii=False, indent=1)


def emit(records: Sequence[dict[str, Any]], fmt: Format, columns: Sequence[Column] | None = None) -> None:
    """Print records on stdout.

    Args:
        records: One mapping a row; the first one's keys are the columns where `columns` is None.
        fmt: The format. JSON and CSV carry all keys unrounded; table and Markdown those of `columns`.
        columns: What a person sees, and how.
    """
    if fmt is Format.json:
        print(to_json(list(records)))
        return
    if fmt is Format.csv:
        import csv

        out = csv.writer(sys.stdout, lineterminator="\n")
        if records:
            out.writerow(records[0].keys())
            out.writerows(["" if v is None else _flat(v) for v in r.values()] for r in records)
        return
    shown = columns or [Column(k, k, right=_numeric(records, k)) for k in (records[0] if records else {})]
    if not shown:
        return
    cells = [[plain(c.show(_bound(r.get(c.key)) if columns else r.get(c.key))) for c in shown] for r in records]
    if fmt is Format.md:
        _markdown(shown, cells)
    elif _crowded(shown, cells):
        _records(shown, cells)
    else:
        _table(shown, cells)


LONGEST = 400
"""Characters of one cell; a longer name is nobody's."""


def _bound(v: Any) -> Any:
    """A text of a trace as one cell takes it: on one line, and no page of it."""
    if not isinstance(v, str) or (len(v) <= LONGEST and not _BREAK.search(v)):
        return v
    text = _BREAK.sub(" ", v)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _flat(v: Any) -> Any:
    if not isinstance(v, (dict, list, tuple)):
        return v
    import json

    return json.dumps(_jsonable(v), ensure_ascii=False)


def _numeric(records: Sequence[dict[str, Any]], key: str) -> bool:
    values = [r.get(key) for r in records if r.get(key) is not None]
    return bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _markdown(columns: Sequence[Column], cells: Iterable[Sequence[str]]) -> None:
    def line(parts: Iterable[str]) -> str:
        return "| " + " | ".join(p.replace("|", "\\|").replace("\n", " ") for p in parts) + " |"

    print(line(one_line(c.title) for c in columns))
    print(line("---:" if c.right else "---" for c in columns))
    for row in cells:
        print(line(row))


def one_line(title: str) -> str:
    """A head that stands on several lines, on one."""
    return " ".join(title.replace("-\n", "").replace("_\n", "_").split())


def example(text: str | None, room: int, most: int = 3) -> str:
    """A text on at most so many lines of `room` columns; what is cut off ends in an ellipsis."""
    lines = textwrap.wrap(plain(text or ""), room)
    return "\n".join(lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1][: room - 1] + "…"])


def left_over(columns: Sequence[Column], records: Iterable[Mapping[str, Any]], least: int = 20) -> int:
    """Columns of the terminal that a table of these leaves for one more column of text."""
    rows = list(records)

    def wide(c: Column) -> int:
        lines = "\n".join([c.title, *(c.show(r.get(c.key)) for r in rows)]).split("\n")
        return 2 + max(map(display_width, lines))

    return max(width() - sum(map(wide, columns)), least)


def note(text: str) -> None:
    """Say something on stderr: wrapped to the terminal, and with no control of it."""
    lines = textwrap.wrap(plain(text), max(width(), 40), break_long_words=False, break_on_hyphens=False)
    print("\n".join(lines), file=sys.stderr)


def width() -> int:
    """Columns to print on: `$COLUMNS`, else the terminal's, else 80 where output goes to a file."""
    if os.environ.get("COLUMNS", "").isdigit():
        return int(os.environ["COLUMNS"])
    return os.get_terminal_size().columns if sys.stdout.isatty() else 80


def display_width(text: str) -> int:
    """Columns that text takes on a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    shown = [c for c in text if not unicodedata.combining(c) and unicodedata.category(c) != "Cf"]
    return len(shown) + sum(unicodedata.east_asian_width(c) in "WF" for c in shown)


def folded(text: str, room: int) -> list[str]:
    """Lines of at most `room` columns: broken between words, else at a mark within one. Nothing is cut."""
    out = []
    for line in text.split("\n"):
        rest = line
        while display_width(rest) > room:
            end, taken = 0, 0
            while end < len(rest) and taken + display_width(rest[end]) <= room:
                taken += display_width(rest[end])
                end += 1
            end = max(end, 1)
            space = rest.rfind(" ", 0, end + 1)
            if space > 0:
                out.append(rest[:space])
                rest = rest[space + 1 :]
                continue
            # A name breaks after a mark, unless that would leave most of the line empty.
            mark = max(rest.rfind(m, 0, end) for m in "_-/.:@") + 1
            end = mark if mark > end // 2 else end
            out.append(rest[:end])
            rest = rest[end:]
        out.append(rest)
    return out


LEAST = 8
"""A column of text this narrow can still be read."""


def _crowded(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> bool:
    """Whether a table leaves its columns only a few characters each."""

    def least(i: int) -> int:
        lines = [line for text in (columns[i].title, *(row[i] for row in cells)) for line in text.split("\n")]
        return min(max(map(display_width, lines), default=0), LEAST)

    return sum(map(least, range(len(columns)))) + 2 * (len(columns) - 1) > width()


def _records(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    """One field a line, records apart: what a table too wide for the terminal becomes."""
    names = [one_line(c.title) for c in columns]
    size = max(map(display_width, names))
    for n, row in enumerate(cells):
        if n:
            print()
        for name, text in zip(names, row, strict=True):
            lines = folded(text, max(width() - size - 2, 20))
            print(f"{name}{' ' * (size - display_width(name))}  {lines[0]}".rstrip())
            for line in lines[1:]:
                print(f"{' ' * (size + 2)}{line}".rstrip())


def _table(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> None:
    """A table with a line under its head. Where it is too wide, the widest columns of text fold."""
    room = [
        max(map(display_width, "\n".join([c.title, *(row[i] for row in cells)]).split("\n")))
        for i, c in enumerate(columns)
    ]
    # Sentences give way before names, and both before numbers.
    gives = [0 if c.right else 2 if any(" " in row[i] for row in cells) else 1 for i, c in enumerate(columns)]
    while sum(room) + 2 * (len(room) - 1) > width():
        i = max(range(len(room)), key=lambda i: (room[i] > 12, gives[i], room[i]))
        if room[i] <= 4:
            break
        room[i] -= 1

    def line(parts: Sequence[str]) -> str:
        padded = []
        for text, size, c in zip(parts, room, columns, strict=True):
            gap = " " * (size - display_width(text))
            padded.append(gap + text if c.right else text + gap)
        return "  ".join(padded).rstrip()

    def block(texts: Sequence[str], *, bottom: bool = False) -> None:
        lines = [folded(t, size) for t, size in zip(texts, room, strict=True)]
        height = max(map(len, lines), default=0)
        for parts in lines:
            fill = [""] * (height - len(parts))
            parts[:] = fill + parts if bottom else parts + fill
        for i in range(height):
            print(line([parts[i] for parts in lines]))

    block([c.title for c in columns], bottom=True)
    print("─" * (sum(room) + 2 * max(len(room) - 1, 0)))
    for row in cells:
        block(row)
