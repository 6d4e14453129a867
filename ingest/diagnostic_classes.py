"""The failure class that one diagnostic alone gives, by the rules of data/failure_classes.toml.

The classes of whole tool results are given in SQL, by the same rules.
"""

from __future__ import annotations

import functools
import re
import tomllib
from importlib.resources import files
from typing import NamedTuple

_FIELDS = frozenset({"harness", "diagnostic", "text"})
_SECTIONS = ("infra.", "compile.", "link.")
"""What a build or an import can fail of; rules of running kernels do not apply to a compiler's words."""
_WRAPPERS = ("collect2: ", "ninja: ")
"""Tools that only say that another one failed."""
WRAPPED = "compile.extension_build"


class _Rule(NamedTuple):
    class_: str
    field: str
    needle: str
    pattern: str


@functools.cache
def _rules() -> tuple[_Rule, ...]:
    text = files("kbstats.data").joinpath("failure_classes.toml").read_text(encoding="utf-8")
    return tuple(
        _Rule(
            c["id"],
            r["field"],
            r.get("needle", ""),
            r.get("pattern", ""),
        )
        for c in tomllib.loads(text)["class"]
        if c["id"].startswith(_SECTIONS)
        for r in c.get("rule", ())
        if r["field"] in _FIELDS
    )


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, once a line has its needle: most never do, and compiling all takes longer than reading some files."""
    return re.compile(pattern)


@functools.lru_cache(4096)
def _first(line: str, *, native: bool) -> str | None:
    for rule in _rules():
        if rule.field == "diagnostic" and not native:
            continue
        if rule.needle in line and (not rule.pattern or _compiled(rule.pattern).search(line)):
            return rule.class_
    return None


def classify(toolchain: str, message: str) -> str | None:
    """The class of a compiler's, linker's or build tool's error, or None."""
    if message.startswith(_WRAPPERS):
        return WRAPPED
    if message.startswith("nvlink "):
        return _first(message, native=True)
    tool = "ptxas error   : " if toolchain == "ptxas" else "k.cu(1): error: "
    return _first(tool + message, native=True)


def classify_python(name: str, message: str) -> str | None:
    """The class of a Python error raised while a candidate was built or imported, or None."""
    return _first(f"{name}: {message}", native=False)
