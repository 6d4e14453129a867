"""Kernels in colour: Python, CUDA and C++, and the CUDA that stands inside Python strings.

One expression a language cuts a text into words, comments, strings and directives, and a table says which
are coloured; all else stays bare text, which keeps a page's node count near the number of coloured words.
This does ten megabytes a second and more, where a lexer does under one. Text is never changed: what goes in
comes out, escaped.
"""

from __future__ import annotations

import hashlib
import re

from kbstats.site.text import visible
from markupsafe import Markup, escape

LIMIT = 300_000
"""Characters beyond which a source stays uncoloured."""

_LOOKS_CPP = re.compile(r"#include\s*[<\"]|__global__|__device__|torch::Tensor|#pragma\s")
_LOOKS_PYTHON = re.compile(r"^(?:import|from|class|def)\s", re.MULTILINE)

_PY_WORDS = (
    "and as assert async await break class continue def del elif else except finally for from global if import in is "
    "lambda None nonlocal not or pass raise return True False try while with yield"
)
_C_WORDS = (
    "alignas auto bool break case char class const constexpr continue default delete do double else enum extern false "
    "float for goto half if inline int long namespace new nullptr operator private public register return short "
    "signed sizeof static struct switch template this true typedef typename union unsigned using void volatile while "
    "__global__ __device__ __host__ __shared__ __constant__ __forceinline__ __launch_bounds__ __restrict__ "
    "__syncthreads"
)

# Tokens: each begins with another character, so that a place that begins none costs one test. What is not closed
# goes on to the end: no text is looked at twice.
_WORD = r"[A-Za-z_]\w*"
_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"
_LONG_STRING = r"\"\"\"(?:[\s\S]*?\"\"\"|[\s\S]*)|'''(?:[\s\S]*?'''|[\s\S]*)"
_PYTHON = re.compile(rf"({_WORD}|\#[^\n]*|{_LONG_STRING}|{_STRING}|@(?<=[\n ]@)[A-Za-z_][\w.]*)")
_CPP = re.compile(rf"({_WORD}|//[^\n]*|/\*(?:[\s\S]*?\*/|[\s\S]*)|{_STRING}|\#[ \t]*\w+)")
# One line of either language, for lines out of their context.
_LINE = re.compile(rf"({_WORD}|//[^\n]*|\#(?<=[ \t]\#) [^\n]*|{_STRING})")

# Marks that no shown text holds (`visible` writes controls out): text is marked, escaped, then turned to markup.
_OPEN, _CLOSE = "\x01", "\x02"
_DEFINED = re.compile(rf"({_OPEN}k(?:def|class|void){_CLOSE} +)(\w+)")
_MARKS = tuple((f"{_OPEN}{name}", f'<span class="{name}">') for name in "cskfp")


class _Tokens(dict[str, str]):
    """A token with its marks, by token. Words come again and again and are kept; comments and strings are not."""

    MOST = 50_000

    def __init__(self, pattern: re.Pattern[str], keywords: str, comment: tuple[str, ...]) -> None:
        super().__init__((w, f"{_OPEN}k{w}{_CLOSE}") for w in keywords.split())
        self.pattern = pattern
        self._comment = comment

    def __missing__(self, token: str) -> str:
        first = token[0]
        if first.isalpha() or first == "_":
            if len(self) < self.MOST:
                self[token] = token
            return token
        if first in "\"'":
            return _string(token)
        return f"{_OPEN}{'c' if token.startswith(self._comment) else 'p'}{token}{_CLOSE}"

    def marked(self, text: str) -> str:
        """A text with its marks."""
        parts = self.pattern.split(text)
        parts[1::2] = map(self.__getitem__, parts[1::2])
        return _DEFINED.sub(rf"\1{_OPEN}f\2{_CLOSE}", "".join(parts))


def _string(token: str) -> str:
    """A string; one that holds C++ (the sources of `load_inline`) is coloured within."""
    quote = token[:3]
    if quote in ('"""', "'''") and len(token) >= 6 and token.endswith(quote) and _LOOKS_CPP.search(token):
        end = f"{_OPEN}s{quote}{_CLOSE}"
        return f"{end}{_IN_CPP.marked(token[3:-3])}{end}"
    return f"{_OPEN}s{token}{_CLOSE}"


_IN_PYTHON = _Tokens(_PYTHON, _PY_WORDS, ("#",))
_IN_CPP = _Tokens(_CPP, _C_WORDS, ("//", "/*"))
_IN_LINE = _Tokens(_LINE, f"{_PY_WORDS} {_C_WORDS}", ("//", "#"))


def _to_markup(marked: str) -> str:
    out = str(escape(marked))
    for mark, tag in _MARKS:
        out = out.replace(mark, tag)
    return out.replace(_CLOSE, "</span>")


def is_python(text: str, language: str | None) -> bool:
    """A kernel whose language is CUDA is most often a Python module that carries it."""
    return language in ("python", "triton", None) or bool(_LOOKS_PYTHON.search(text))


def lines_in_colour(text: str) -> list[str]:
    """Lines, each coloured by itself and escaped: for diffs and excerpts, where no line knows its context."""
    return _to_markup(_IN_LINE.marked(text)).split("\n")


class Highlighter:
    """Coloured sources, the last ones kept: a kernel stands on its own page and on its run's."""

    def __init__(self, keep: int = 256) -> None:
        self._done: dict[str, Markup] = {}
        self._keep = keep

    def __call__(self, text: str, language: str | None = None) -> Markup:
        """A source as markup for inside a `<pre>`."""
        key = hashlib.sha256(f"{language}\0{text}".encode("utf-8", "replace")).hexdigest()
        if key not in self._done:
            if len(self._done) >= self._keep:
                self._done.pop(next(iter(self._done)))
            self._done[key] = self._render(text, language)
        return self._done[key]

    @staticmethod
    def _render(text: str, language: str | None) -> Markup:
        if _OPEN in text or _CLOSE in text:
            text = visible(text)
        if len(text) > LIMIT or language == "plain":
            return escape(text)
        rule = _IN_PYTHON if is_python(text, language) else _IN_CPP
        return Markup(_to_markup(rule.marked(text)))  # noqa: S704  escaped in _to_markup
