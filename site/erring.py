"""Which line of the submitted module an error names.

Compilers speak of the files that `torch.utils.cpp_extension.load_inline` writes: `cuda.cu` and
`main.cpp` are the joined strings of `cuda_sources` and `cpp_sources` behind its own includes (three and
one line; torch/utils/cpp_extension.py). Python errors of the module itself name it directly.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

# file the extension builder writes -> its argument, and the lines it puts before it
_FILES = {"cuda.cu": ("cuda_sources", 3), "main.cpp": ("cpp_sources", 1)}
_MODULES = re.compile(r"(?:kernel|.*_kernel|<string>|model_new|solution|submission|custom_kernel)\S*")
_STRING = re.compile(r"(?P<name>\w+)\s*=\s*[rRuU]{0,1}(?P<q>\"\"\"|''')(?P<body>[\s\S]*?)(?P=q)")
_QUOTED = re.compile(r"[\"‘'`]([A-Za-z_][\w:]*)[\"’'`]")


class Lines:
    """Lines of one module's embedded sources."""

    def __init__(self, source: str) -> None:
        self._lines = source.split("\n")
        self._map: dict[str, list[int]] = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            self._by_text(
                source
            )  # pages lose indentation, models forget a bracket: the strings stand there all the same
            return
        strings: dict[str, ast.expr] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", None)
                    if name:
                        strings[name] = node.value
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and "load_inline" in ast.dump(node.func):
                for file, (argument, before) in _FILES.items():
                    value = next((k.value for k in node.keywords if k.arg == argument), None)
                    lines = self._of(value, strings, 0)
                    if lines and file not in self._map:
                        self._map[file] = [0] * before + lines

    def _by_text(self, source: str) -> None:
        """The same from a text that does not parse: `name = \"\"\"…\"\"\"`, and what the call names."""
        strings = {m["name"]: self._span(source, m) for m in _STRING.finditer(source)}
        for file, (argument, before) in _FILES.items():
            m = re.search(rf"\b{argument}\s*=\s*\[?\s*(?:self\.)?(\w+)", source)
            lines = strings.get(m[1]) if m else strings.get(argument)
            if lines:
                self._map[file] = [0] * before + lines

    @staticmethod
    def _span(source: str, m: re.Match[str]) -> list[int]:
        first = source.count("\n", 0, m.start("body")) + 1
        return [first + i for i in range(m["body"].count("\n") + 1)]

    def _of(self, value: Any, strings: dict[str, ast.expr], depth: int) -> list[int]:
        """Module lines of each line of a string expression; a list's items follow each other."""
        if depth > 8 or value is None:
            return []
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            start, count = value.lineno, value.value.count("\n") + 1
            return [start + i for i in range(count)]
        if isinstance(value, (ast.List, ast.Tuple)):
            return [n for item in value.elts for n in self._of(item, strings, depth + 1)]
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
            left, right = (self._of(x, strings, depth + 1) for x in (value.left, value.right))
            return left[:-1] + right if right else left  # the left one's last line goes on in the right one's first
        name = value.id if isinstance(value, ast.Name) else getattr(value, "attr", None)
        return self._of(strings.get(name), strings, depth + 1) if isinstance(name, str) else []

    def line(self, error: dict[str, Any]) -> int | None:
        """The module's line that an error (`file, line, message`) names; None where nobody can say."""
        file, line = error["file"] or "", error["line"]
        if not line or line < 1:
            return None
        if file in _FILES:
            lines = self._map.get(file, [])
            found = lines[line - 1] if line <= len(lines) else 0
        else:
            found = line if _MODULES.fullmatch(file) and line <= len(self._lines) else 0
        if not 1 <= found <= len(self._lines):
            return None
        return found if self._agrees(found, error["message"] or "") else self._near(found, error["message"] or "")

    def _agrees(self, line: int, message: str) -> bool:
        names = [n.rpartition("::")[2] for n in _QUOTED.findall(message)]
        return not names or any(n in self._lines[line - 1] for n in names)

    def _near(self, line: int, message: str) -> int:
        """Another header of the builder shifts all lines alike: the nearest line within three that names it."""
        for step in (1, -1, 2, -2, 3, -3):
            if 1 <= line + step <= len(self._lines) and self._agrees(line + step, message):
                return line + step
        return line
