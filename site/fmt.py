"""Numbers, times and units as the pages write them: tabular, a true unit beside each, no false digits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from datetime import datetime

UNKNOWN = "–"
"""What stands for a value nobody knows."""

UNITS = {
    "us": "µs",
    "ms": "ms",
    "s": "s",
    "bytes": "B",
    "pct": "%",
    "mj": "mJ",
    "w": "W",
    "gb_per_s": "GB/s",
    "gbs": "GB/s",
    "tflops": "TFLOP/s",
    "tflop_per_s": "TFLOP/s",
    "abs": "",
    "flop_per_byte": "FLOP/B",
    "ratio": "",
    "count": "",
    "mhz": "MHz",
    "tokens": "tokens",
    "score": "of 1",
}
"""How the unit ids of table `metrics` are written. An unknown id stands as it is."""


def unit(name: str | None) -> str:
    """The sign of a unit."""
    return UNITS.get(name or "", name or "")


def sig(v: float | None, digits: int = 3) -> str:
    """A number with so many significant digits and thousands separated; tiny and huge ones in powers.

    >>> sig(0.01234), sig(42399), sig(7.45e-08), sig(None)
    ('0.0123', '42,399', '7.45e-08', '–')
    """
    if v is None or not math.isfinite(v):
        return UNKNOWN
    if v == 0:
        return "0"
    a = abs(v)
    if a < 1e-3 or a >= 1e9:
        return f"{v:.{digits - 1}e}"
    if a >= 10 ** (digits - 1):
        return f"{v:,.0f}"
    decimals = digits - 1 - math.floor(math.log10(a))
    text = f"{v:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if float(v).is_integer() else text


def times(v: float | None) -> str:
    """A speedup: two decimals, none from 100 on, two digits below 0.1."""
    if v is None or not math.isfinite(v):
        return UNKNOWN
    if abs(v) < 0.1:
        return f"{v:.2g}×"
    return f"{v:.2f}×" if abs(v) < 100 else f"{v:,.0f}×"


def pct(v: float | None, digits: int = 0) -> str:
    """A share of one as per cent."""
    return UNKNOWN if v is None else f"{100 * v:.{digits}f} %"


def count(v: float | None) -> str:
    """A whole number, thousands separated."""
    return UNKNOWN if v is None else f"{v:,.0f}"


def micros(v: float | None) -> str:
    """A run time given in microseconds, in the unit a person would say."""
    if v is None:
        return UNKNOWN
    if v < 1_000:
        return f"{sig(v)} µs"
    return f"{sig(v / 1e3)} ms" if v < 1e6 else f"{sig(v / 1e6)} s"


def seconds(v: float | None) -> str:
    """A duration: 8.6 s, 15 min 55 s, 2 h 04 min."""
    if v is None:
        return UNKNOWN
    if v < 60:
        return f"{v:.1f} s"
    if v < 3600:
        return f"{int(v // 60)} min {int(v % 60):02d} s"
    return f"{int(v // 3600)} h {int(v % 3600 // 60):02d} min"


def size(v: float | None) -> str:
    """A number of bytes, in powers of 1024."""
    if v is None:
        return UNKNOWN
    for name in ("B", "KiB", "MiB"):
        if abs(v) < 1024:
            return f"{v:.0f} {name}" if name == "B" else f"{v:.1f} {name}"
        v /= 1024
    return f"{v:.2f} GiB"


def tokens(v: float | None) -> str:
    """A number of tokens as people say it: 24 k, 39.5 M."""
    if v is None:
        return UNKNOWN
    return f"{v:.0f}" if v < 1_000 else f"{sig(v / 1e3)} k" if v < 1e6 else f"{sig(v / 1e6)} M"


def usd(v: float | None) -> str:
    """US dollars."""
    return UNKNOWN if v is None else f"${v:,.2f}"


def day(v: datetime | None) -> str:
    """A date, UTC."""
    return UNKNOWN if v is None else v.strftime("%Y-%m-%d")


def moment(v: datetime | None) -> str:
    """A time, UTC, to the second."""
    return UNKNOWN if v is None else v.strftime("%Y-%m-%d %H:%M:%S UTC")


def metric(v: float | None, unit_id: str | None) -> str:
    """A metric's number in the unit of its row; bytes and long times in readable multiples."""
    if unit_id == "bytes":
        return size(v)
    if unit_id == "us":
        return micros(v)
    text = sig(v)
    sign = unit(unit_id)
    return text if v is None or not sign else f"{text} {sign}"


def plural(n: int, word: str, many: str | None = None) -> str:
    """`1 run`, `2 runs`."""
    return f"{n:,} {word if n == 1 else many or word + 's'}"
