"""Typed records out of untyped JSON, field by field: one wrong field never loses a file."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from kbstats.ingest.batch import json_text
from msgspec import inspect as mi

Report = Callable[[str, str, str], None]
"""report(code, message, location): location is a JSON pointer."""

INT64 = 2**63

Int = Annotated[int, msgspec.Meta(ge=-INT64, le=INT64 - 1)]
"""An integer that a table can hold. Others send a file through the slow path, which says so."""


def point(pointer: str, key: object) -> str:
    """A JSON pointer (RFC 6901) one step further down."""
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


@functools.cache
def _plan(cls: type) -> tuple[tuple[str, str, mi.Type, bool], ...]:
    info = mi.type_info(cls)
    assert isinstance(info, mi.StructType)
    return tuple((f.name, f.encode_name, _one(f.type), f.required) for f in info.fields)


def _one(t: mi.Type) -> mi.Type:
    """The one type beside None of an optional field."""
    if isinstance(t, mi.UnionType):
        rest = [x for x in t.types if not isinstance(x, mi.NoneType)]
        return rest[0] if len(rest) == 1 else mi.AnyType()
    return t


def known_keys(cls: type) -> frozenset[str]:
    """The JSON keys that a struct declares."""
    return frozenset(p[1] for p in _plan(cls))


def build(cls: type, obj: dict[str, Any], report: Report, pointer: str = "") -> Any:
    """A struct of `cls` from a JSON object. What does not fit is repaired or dropped, and reported."""
    values: dict[str, Any] = {}
    for name, key, kind, required in _plan(cls):
        value = obj.get(key)
        if value is not None:
            value = convert(kind, value, report, point(pointer, key))
        if value is not None or required:
            values[name] = value
    return cls(**values)


def convert(kind: mi.Type, value: Any, report: Report, pointer: str) -> Any:
    """One value as the type a field declares, or None."""
    if isinstance(kind, mi.StructType):
        if isinstance(value, dict):
            return build(kind.cls, value, report, pointer)
        return _dropped(value, "an object", report, pointer)
    if isinstance(kind, mi.DictType):
        return value if isinstance(value, dict) else _dropped(value, "an object", report, pointer)
    if isinstance(kind, mi.ListType):
        if not isinstance(value, list):
            return _dropped(value, "a list", report, pointer)
        item = _one(kind.item_type)
        out = [convert(item, v, report, point(pointer, i)) for i, v in enumerate(value) if v is not None]
        return [v for v in out if v is not None]
    scalar = {
        mi.StrType: to_str,
        mi.BoolType: to_bool,
        mi.IntType: to_int,
        mi.FloatType: to_float,
    }.get(type(kind))
    return scalar(value, report, pointer) if scalar else value


def _dropped(value: Any, wanted: str, report: Report, pointer: str) -> Any:
    """None, after saying so."""
    report("type_dropped", f"expected {wanted}, found {_name(value)}; the field is left empty", pointer)


def _repaired(value: Any, wanted: str, report: Report, pointer: str) -> None:
    report("type_repaired", f"expected {wanted}, found {_name(value)}; converted", pointer)


def _name(value: Any) -> str:
    names = {
        dict: "an object",
        list: "a list",
        str: "a text",
        bool: "a boolean",
        int: "a number",
        float: "a number",
    }
    return names.get(type(value), type(value).__name__)


def to_str(value: Any, report: Report, pointer: str) -> str | None:
    """A text; numbers and structures are written out."""
    if isinstance(value, str):
        return value
    _repaired(value, "a text", report, pointer)
    return json_text(value)


def to_bool(value: Any, report: Report, pointer: str) -> bool | None:
    """A boolean; also 0, 1, and the usual words."""
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
    if isinstance(value, (int, float)) and value in {0, 1}:
        _repaired(value, "a boolean", report, pointer)
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in words:
        _repaired(value, "a boolean", report, pointer)
        return words[value.strip().lower()]
    return _dropped(value, "a boolean", report, pointer)


def to_int(value: Any, report: Report, pointer: str) -> int | None:
    """An integer of 64 bits; also 3.0 and "3"."""
    if isinstance(value, int) and not isinstance(value, bool) and -INT64 <= value < INT64:
        return value
    number: Any = value
    if isinstance(value, str):
        try:
            number = float(value.strip())
        except ValueError:
            number = None
    finite = isinstance(number, int) or (isinstance(number, float) and math.isfinite(number))
    if isinstance(number, bool) or not finite:
        return _dropped(value, "a whole number", report, pointer)
    if number != int(number) or not -INT64 <= number < INT64:
        return _dropped(value, "a whole number of 64 bits", report, pointer)
    _repaired(value, "a whole number", report, pointer)
    return int(value) if isinstance(value, str) and value.strip().lstrip("+-").isdigit() else int(number)


def to_float(value: Any, report: Report, pointer: str) -> float | None:
    """A finite number; also "3.5". Not-a-number and infinities are unknown."""
    number = value
    if isinstance(value, str):
        try:
            number = float(value.strip())
        except ValueError:
            return _dropped(value, "a number", report, pointer)
        _repaired(value, "a number", report, pointer)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return _dropped(value, "a number", report, pointer)
    try:
        number = float(number)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        report("non_finite", "a number that is not finite; read as unknown", pointer)
        return None
    return number
