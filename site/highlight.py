"""Kernels in colour: Python, CUDA and C++, and the CUDA that stands inside Python strings.

pygments does under a megabyte a second, so a source is coloured once a build (cached by its hash) and
only where a whole kernel is shown. Tokens fall into seven classes; all else stays bare text, which
keeps a page's node count near the number of coloured words. Text is never changed: what goes in comes
out, escaped.
"""

from __future__ import annotations

import functools
import hashlib
import re
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

if TYPE_CHECKING:
    from collections.abc import Iterator

LIMIT = 300_000
"""Characters beyond which a source stays uncoloured."""

# A triple-quoted string that holds C++: `load_inline` sources.
_EMBEDDED = re.compile(r"(?P<open>\b[rRbBfFuU]{0,2}(?P<q>\"\"\"|'''))(?P<body>[\s\S]*?)(?P=q)")
_LOOKS_CPP = re.compile(r"#include\s*[<\"]|__global__|__device__|torch::Tensor|#pragma\s")


@functools.cache
def _classes() -> list[tuple[Any, str]]:
    from pygments.token import Comment, Keyword, Name, Number, String

    return [
        (Comment.Preproc, "p"),
        (Comment.PreprocFile, "s"),
        (Comment, "c"),
        (Keyword, "k"),
        (Name.Decorator, "p"),
        (Name.Function, "f"),
        (Name.Class, "f"),
        (Name.Builtin, "b"),
        (String, "s"),
        (Number, "m"),
    ]


@functools.cache
def _class_of(token: Any) -> str:
    return next((name for kind, name in _classes() if token in kind), "")


@functools.cache
def _lexer(language: str) -> Any:
    from pygments.lexers import CppLexer, CudaLexer, PythonLexer

    return {"cpp": CppLexer, "cuda": CudaLexer}.get(language, PythonLexer)()


def _tokens(text: str, language: str) -> Iterator[tuple[str, str]]:
    for _, token, value in _lexer(language).get_tokens_unprocessed(text):
        yield _class_of(token), value


def _python_with_cuda(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    for m in _EMBEDDED.finditer(text):
        if not _LOOKS_CPP.search(m["body"]):
            continue
        yield from _tokens(text[at : m.start()], "python")
        yield "s", m["open"]
        yield from _tokens(m["body"], "cuda")
        yield "s", m["q"]
        at = m.end()
    yield from _tokens(text[at:], "python")


def _is_python(text: str, language: str | None) -> bool:
    if language in ("python", "triton", None):
        return True
    # A kernel whose language is CUDA is most often a Python module that carries it.
    return bool(re.search(r"^(?:import|from|class|def)\s", text, re.MULTILINE))


def _markup(tokens: Iterator[tuple[str, str]]) -> Markup:
    out: list[str] = []
    last, held = "", ""
    for name, value in tokens:
        if name == last or value.isspace():  # blanks join either side: fewer nodes
            held += value
            continue
        if held:
            out.append(f'<span class="{last}">{escape(held)}</span>' if last else str(escape(held)))
        last, held = name, value
    if held:
        out.append(f'<span class="{last}">{escape(held)}</span>' if last else str(escape(held)))
    return Markup("".join(out))  # noqa: S704  each part is escaped above


class Highlighter:
    """Coloured sources, each computed once a build."""

    def __init__(self, keep: int = 512) -> None:
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
        if len(text) > LIMIT or language == "plain":
            return escape(text)
        tokens = _python_with_cuda(text) if _is_python(text, language) else _tokens(text, language or "cuda")
        return _markup(tokens)
