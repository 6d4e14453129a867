"""Options whose text needs no checking, read without what checks the rest.

typer checks every value by pydantic, whose import alone takes as long as a small board. A text, a path, a number or
one of several words that is what it should be is taken as it stands here; anything else goes typer's own way, which
also words what is wrong with it. A typer that reads values otherwise is left as it is.
"""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_WHOLE = re.compile(r"-?[0-9]{1,18}")
_DECIMAL = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,18})?")
_CHECKS = ("parser", "clamp", "exists", "writable", "resolve_path", "allow_dash", "path_type", "formats")
"""What an option may ask typer for: with any of these its values are typer's to read."""


class _Plain:
    """Reads the values of one option; stands where typer keeps what reads them."""

    def __init__(self, kind: Any, info: Any, *, several: bool, slow: Callable[[], Any]) -> None:
        self.kind, self.least, self.most = kind, info.min, info.max
        self.several, self.slow = several, slow

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value that the command gets."""
        if value is None:
            return () if self.several else None
        if self.several and isinstance(value, (list, tuple)):
            read = [self._read(v) for v in value]
            if None not in read:
                return read
        elif not self.several and (one := self._read(value)) is not None:
            return one
        return self.slow().coerce(value, param=param, ctx=ctx)

    def _read(self, value: Any) -> Any:
        """A text as what it stands for, a value of that kind as it is; None where it is neither, or out of bounds."""
        if isinstance(value, str) and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
            return None  # bytes that are no text, nor a name
        found = value if isinstance(value, self.kind) else _text(self.kind, value) if isinstance(value, str) else None
        if found is None or (self.least is not None and found < self.least):
            return None
        return None if self.most is not None and found > self.most else found


def _text(kind: Any, text: str) -> Any:
    if kind is Path:
        return Path(text)
    if kind is int:
        return int(text) if _WHOLE.fullmatch(text) else None
    if kind is float:
        return float(text) if _DECIMAL.fullmatch(text) else None
    return kind(text) if issubclass(kind, StrEnum) and text in {str(v) for v in kind} else None


def lighten(params: Iterable[Any]) -> None:
    """Let the plain options among a command's parameters read their own values."""
    for param in params:
        info = getattr(getattr(param, "type_descriptor", None), "parameter_info", None)
        slow = getattr(param, "get_runtime_param", None)
        if info is None or slow is None or "get_runtime_param" in vars(param):
            continue
        if any(getattr(info, name, None) for name in _CHECKS):
            continue
        kind = param.type_descriptor.annotation
        several = get_origin(kind) is list
        if several:
            (kind,) = get_args(kind)
        if kind in {bool, str, int, float, Path} or (isinstance(kind, type) and issubclass(kind, StrEnum)):
            plain = _Plain(kind, info, several=several, slow=slow)
            param.get_runtime_param = lambda plain=plain: plain
