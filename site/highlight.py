"""Kernels in colour: Python, CUDA and C++, and the CUDA that stands inside Python strings.

One expression a language finds comments, strings, keywords, names that are defined and directives; all
else stays bare text, which keeps a page's node count near the number of coloured words. This does tens
of megabytes a second, where a lexer does under one. Text is never changed: what goes in comes out,
escaped.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from kbstats.site.text import visible
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Callable

LIMIT = 300_000
"""Characters beyond which a source stays uncoloured."""

# A triple-quoted string that holds C++: `load_inline` sources.
_EMBEDDED = re.compile(r"(?P<open>[rRbBfFuU]{0,2}(?P<q>\"\"\"|'''))(?P<body>[\s\S]*?)(?P=q)")
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
_C_STRING = r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'"


def _trie(words: list[str]) -> str:
    """Alternatives that share a beginning share its test: a word that is none of them fails at its first letters."""
    heads = dict.fromkeys(w[:1] for w in words)
    parts = [
        re.escape(head) + _trie([w[1:] for w in words if w[:1] == head]) if head else ""
        for head in sorted(heads, reverse=True)
    ]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


def _words(names: str) -> str:
    return rf"\b{_trie(sorted(set(names.split())))}\b"


# A group's name is the class of what it matches.
_PYTHON = re.compile(
    rf"(?P<c>\#[^\n]*)|(?P<s>(?:\b[rRbBfFuU]{{1,2}})?(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''|{_C_STRING}))"
    rf"|(?P<p>^[ \t]*@[\w.]+)|(?P<f>(?<=\bdef )\w+|(?<=\bclass )\w+)|(?P<k>{_words(_PY_WORDS)})",
    re.MULTILINE,
)
_CPP = re.compile(
    rf"(?P<c>//[^\n]*|/\*[\s\S]*?\*/)|(?P<s>{_C_STRING})|(?P<p>^[ \t]*\#[ \t]*\w+)"
    rf"|(?P<f>(?<=\bvoid )\w+(?=\())|(?P<k>{_words(_C_WORDS)})",
    re.MULTILINE,
)
# One line of either language, for lines out of their context.
_LINE = re.compile(
    rf"(?P<c>//[^\n]*|(?<=\s)\#\s[^\n]*)|(?P<s>{_C_STRING})|(?P<k>{_words(_PY_WORDS + ' ' + _C_WORDS)})", re.MULTILINE
)

# Marks that no shown text holds (`visible` writes controls out): text is marked, escaped, then turned to markup.
_OPEN, _CLOSE = "\x01", "\x02"


def _mark(m: re.Match[str]) -> str:
    return f"{_OPEN}{m.lastgroup}{m[0]}{_CLOSE}"


def _to_markup(marked: str) -> str:
    out = str(escape(marked))
    for name in "cskfp":
        out = out.replace(_OPEN + name, f'<span class="{name}">')
    return out.replace(_CLOSE, "</span>")


def _embedded(m: re.Match[str]) -> str:
    """A Python token; a string that holds C++ is coloured within."""
    text = m[0]
    if m.lastgroup == "s" and (whole := _EMBEDDED.fullmatch(text)) and _LOOKS_CPP.search(whole["body"]):
        quote = f"{_OPEN}s{whole['open']}{_CLOSE}"
        return f"{quote}{_CPP.sub(_mark, whole['body'])}{_OPEN}s{whole['q']}{_CLOSE}"
    return _mark(m)


def is_python(text: str, language: str | None) -> bool:
    """A kernel whose language is CUDA is most often a Python module that carries it."""
    return language in ("python", "triton", None) or bool(_LOOKS_PYTHON.search(text))


def lines_in_colour(text: str) -> list[str]:
    """Lines, each coloured by itself and escaped: for diffs and excerpts, where no line knows its context."""
    return _to_markup(_LINE.sub(_mark, text)).split("\n")


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
        rule: tuple[re.Pattern[str], Callable[[re.Match[str]], str]]
        rule = (_PYTHON, _embedded) if is_python(text, language) else (_CPP, _mark)
        return Markup(_to_markup(rule[0].sub(rule[1], text)))  # noqa: S704  escaped in _to_markup
