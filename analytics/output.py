"""How every reading command prints: one list of records as table, JSON, CSV or Markdown.

Data goes to stdout, everything else to stderr. JSON has NULL for what is unknown and never NaN.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import sys
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Format(StrEnum):
    """Output formats of the reading commands."""

    table = "table"
    json = "json"
    csv = "csv"
    md = "md"


# C0 and C1 controls, and the marks that reorder text: a trace's text must not drive a terminal.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def plain(text: str) -> str:
    """Text with control and reordering characters made visible as escapes."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


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


def rows_of(con_result: Any) -> list[dict[str, Any]]:
    """A DuckDB result as a list of records."""
    names = [d[0] for d in con_result.description]
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
    return v if isinstance(v, (str, int, float, bool, type(None))) else str(v)


def to_json(records: Any) -> str:
    """JSON text; dates in ISO form, non-finite numbers as null."""
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
        out = csv.writer(sys.stdout, lineterminator="\n")
        if records:
            out.writerow(records[0].keys())
            out.writerows(["" if v is None else _flat(v) for v in r.values()] for r in records)
        return
    shown = columns or [Column(k, k, right=_numeric(records, k)) for k in (records[0] if records else {})]
    cells = [[plain(c.show(r.get(c.key))) for c in shown] for r in records]
    if fmt is Format.md:
        _markdown(shown, cells)
    else:
        _table(shown, cells)


def _flat(v: Any) -> Any:
    return json.dumps(_jsonable(v), ensure_ascii=False) if isinstance(v, (dict, list, tuple)) else v


def _numeric(records: Sequence[dict[str, Any]], key: str) -> bool:
    values = [r.get(key) for r in records if r.get(key) is not None]
    return bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _markdown(columns: Sequence[Column], cells: Iterable[Sequence[str]]) -> None:
    def line(parts: Iterable[str]) -> str:
        return "| " + " | ".join(p.replace("|", "\\|").replace("\n", " ") for p in parts) + " |"

    print(line(c.title for c in columns))
    print(line("---:" if c.right else "---" for c in columns))
    for row in cells:
        print(line(row))


def width() -> int:
    """Columns to print on: `$COLUMNS`, else the terminal's, else 80 where output goes to a file."""
    if os.environ.get("COLUMNS", "").isdigit():
        return int(os.environ["COLUMNS"])
    return os.get_terminal_size().columns if sys.stdout.isatty() else 80


def _table(columns: Sequence[Column], cells: Iterable[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), show_edge=False)
    for c in columns:
        table.add_column(c.title, justify="right" if c.right else "left", overflow="fold", no_wrap=False)
    for row in cells:
        table.add_row(*(Text(v) for v in row))
    Console(width=width(), highlight=False, emoji=False, markup=False).print(table)
