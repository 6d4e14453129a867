"""Compilers' output to rows: nvcc, gcc and clang, linker, ptxas, ninja, triton, Python.

Only what concerns the candidate: the harness's own tracebacks are none, `ptxas info` is none. Texts
arrive in two forms, as printed and with all white space run together (pages rendered and read back);
the patterns hold for both, and a message ends where the line or the next diagnostic begins.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from kbstats.ingest import harness_words
from kbstats.ingest.diagnostic_classes import classify, classify_python
from kbstats.ingest.rows import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGE_CHARS = 500
MAX_ROWS = 400
"""Diagnostics kept for one output; a broken header repeats itself for every template."""


class Diagnostic(NamedTuple):
    """One message of one tool."""

    toolchain: str
    severity: str
    message: str
    file: str | None = None
    line: int | None = None
    col: int | None = None
    code: str | None = None
    class_: str | None = None


_SEVERITY = r"(?P<severity>catastrophic error|fatal error|internal error|error|warning|remark|note)"
_FILE = r"(?P<file>[^\s()\"'`]+)"


class _Tool(NamedTuple):
    """How one tool's messages are found: by a literal first, which costs a tenth of a pattern."""

    anchors: tuple[str, ...]
    pattern: re.Pattern[str]
    from_word: bool = False
    """The message begins with the word that the anchor ends, not with the anchor."""


_TOOLS: dict[str, _Tool] = {
    "nvcc": _Tool(
        ("): ",),
        re.compile(rf"{_FILE}\((?P<line>\d+)\): {_SEVERITY}(?: #(?P<code>\d+(?:-D)?))?\s*: (?P<message>[^\n]*)"),
        from_word=True,
    ),
    "gcc": _Tool(
        (": error: ", ": warning: ", ": fatal error: ", ": note: "),
        re.compile(rf"(?P<file>[^\s:()\"'`]+):(?P<line>\d+):(?:(?P<col>\d+):)? {_SEVERITY}: (?P<message>[^\n]*)"),
        from_word=True,
    ),
    "driver": _Tool(
        ("nvcc ",),
        re.compile(r"nvcc (?P<severity>fatal|error|warning)\s*: (?P<message>[^\n]*)"),
    ),
    "ptxas": _Tool(
        ("ptxas ",),
        re.compile(
            r"ptxas (?:(?P<file>[^\s,]+), line (?P<line>\d+); )?"
            r"(?P<severity>fatal|error|warning)\s*: (?P<message>[^\n]*)"
        ),
    ),
    "ld": _Tool(
        (
            "undefined reference to ",
            "multiple definition of ",
            "cannot find -l",
            "collect2: ",
            "nvlink ",
        ),
        re.compile(
            r"(?P<message>(?:undefined reference to|multiple definition of) [`'‘][^\n]*?['’](?:; [^\n]*)?(?=\s|$)"
            r"|cannot find -l\S+[^\n]*|collect2: (?:fatal )?error: [^\n]*|nvlink (?:fatal|error)\s*: [^\n]*)"
        ),
    ),
    "ninja": _Tool(("ninja: ",), re.compile(r"(?P<message>ninja: (?:build stopped|error|fatal)[^\n]*)")),
}
_ANCHORS = tuple((anchor, name) for name, tool in _TOOLS.items() for anchor in tool.anchors)
_WORD_CHARS = 1000
"""How far back the word before an anchor may begin."""
_NEXT = re.compile(
    r"\s(?:[^\s()\"'`]+\(\d+\)\s*: (?:error|warning|fatal error|note)"
    r"|[^\s:()]+:\d+:\d+: (?:error|warning|fatal error|note):"
    r"|\d+ errors? detected in the compilation|ninja: build stopped|nvcc warning|ptxas )|\s\^\s"
)
_NEXT_WORDS = ("error", "warning", "note", "ninja", "ptxas", "^")
"""One of these is part of whatever `_NEXT` finds."""
_CODE = re.compile(r"\s\[(?P<code>-[\w+=-]+)\]\s*$")
_EXTENSION = re.compile(r"Error building extension '(?P<name>[^'\n]*)'")
_PYTHON = re.compile(
    r"(?:^|\n|(?<=\. )|raised: )(?:[A-Za-z_][\w.]*\.)?"
    r"(?P<name>[A-Z]\w*(?:Error|Exception|Construct|Resources))(?:: (?P<message>[^\n]*)|(?=\n|$))"
)
_NAME_ENDS = ("Error", "Exception", "Construct", "Resources")
_FRAME = re.compile(r'File "(?P<file>[^"\n]*)", line (?P<line>\d+)')
_INLINE = re.compile(r"\((?P<file>[^\s(),]+), line (?P<line>\d+)\)")
_TRITON_AT = re.compile(r"at (?P<line>\d+):(?P<col>\d+):?")
_TRITON = frozenset(
    {
        "CompilationError",
        "UnsupportedLanguageConstruct",
        "CompileTimeAssertionFailure",
        "OutOfResources",
        "MLIRCompilationError",
    }
)
_IMPORTING = frozenset({"ImportError", "ModuleNotFoundError", "SyntaxError", "IndentationError", "TabError"})
"""What can only be raised while a module is being imported."""

_PREFIX = re.compile(r"^\w+ FAILED: (?P<first>[^\n]*)")


def base_name(path: str) -> str:
    """The last part of a path of either kind."""
    return re.split(r"[/\\]", path)[-1]


def parse(text: str, *, building: bool) -> list[Diagnostic]:
    """The diagnostics of an output, in the order in which they stand.

    Args:
        text: What the tool answered.
        building: The text is about building or importing the candidate, so that a Python error in it
            is the candidate's.
    """
    found: list[tuple[int, Diagnostic]] = []
    for anchor, name in _ANCHORS:
        if anchor in text:
            found += [(m.start(), _native(name, m)) for m in _matches(_TOOLS[name], anchor, text)]
    if building and not harness_words.failed_by_itself(text):
        found += _python(text, native=any(_error(d) for _, d in found))
    found.sort(key=lambda f: f[0])
    out: list[Diagnostic] = []
    for _, d in found:
        if d not in out[-20:]:  # ninja prints what the exception prints again
            out.append(d)
    return out[:MAX_ROWS]


def _matches(tool: _Tool, anchor: str, text: str) -> Iterator[re.Match[str]]:
    """Matches of a tool's pattern, found from one of its anchors."""
    at = text.find(anchor)
    while at >= 0:
        start = at
        if tool.from_word:
            low = max(0, at - _WORD_CHARS)
            start = 1 + max(text.rfind(" ", low, at), text.rfind("\n", low, at), text.rfind("\t", low, at))
        if m := tool.pattern.match(text, start):
            yield m
        at = text.find(anchor, at + len(anchor))


def _error(d: Diagnostic) -> bool:
    return "error" in d.severity and d.toolchain != "ninja"


def _native(tool: str, m: re.Match[str]) -> Diagnostic:
    groups = m.groupdict()
    message = _one_line(groups["message"])
    severity = groups.get("severity") or "error"
    severity = {
        "fatal": "fatal error",
        "catastrophic error": "fatal error",
        "internal error": "error",
        "remark": "note",
    }.get(severity, severity)
    toolchain = {"driver": "nvcc"}.get(tool, tool)
    code = groups.get("code")
    if tool == "gcc" and (c := _CODE.search(message)):
        code, message = c["code"], message[: c.start()]
    file = groups.get("file")
    line, col = groups.get("line"), groups.get("col")
    class_ = None if severity in {"warning", "note"} else classify(toolchain, message)
    return Diagnostic(
        toolchain, severity, message, base_name(file) if file else None, _int(line), _int(col), code, class_
    )


def _int(digits: str | None) -> int | None:
    return int(digits) if digits and len(digits) < 10 else None


def _one_line(text: str) -> str:
    """A message up to the next diagnostic, where the text has lost its line ends."""
    text = text.strip()
    if any(word in text for word in _NEXT_WORDS) and (m := _NEXT.search(text)):
        text = text[: m.start()].rstrip()
    return text[:MESSAGE_CHARS]


def _python(text: str, *, native: bool) -> Iterator[tuple[int, Diagnostic]]:
    """Python errors of a build or an import; the wrapper around a compiler's own errors is left out."""
    extension = _EXTENSION.search(text)
    if extension and not native:
        message = f"Error building extension '{extension['name']}'"
        yield extension.start(), Diagnostic("ninja", "error", message, class_="compile.extension_build")
    seen: set[str] = set()
    raised_by_eval = "eval_kernel_against_ref raised:" in text
    for m in _raised(text):
        name, message = m["name"], (m["message"] or "").strip()
        if _EXTENSION.match(message) or message in seen or _wrapper(text, m):
            continue
        if raised_by_eval and name not in _IMPORTING and name not in _TRITON:
            continue
        seen.add(message)
        yield _located(text, m, name)
    if not seen and not native and not extension and (d := _told(text)):
        yield 0, d


def _raised(text: str) -> Iterator[re.Match[str]]:
    """Matches of `_PYTHON`, looked for in the lines alone that hold the end of an exception's name."""
    lines: set[tuple[int, int]] = set()
    for name in _NAME_ENDS:
        at = text.find(name)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            lines.add((max(text.rfind("\n", 0, at), 0), end))
            at = text.find(name, end)
    for start, end in sorted(lines):
        yield from _PYTHON.finditer(text, start, end)


def _wrapper(text: str, m: re.Match[str]) -> bool:
    """The exception that only says that a subprocess (ninja, nvcc) failed."""
    message = m["message"] or ""
    return (
        m["name"] == "CalledProcessError"
        or "returned non-zero exit status" in message
        or (not message and "FAILED" in text[max(0, m.start() - 40) : m.start() + 1])
    )


def _located(text: str, m: re.Match[str], name: str) -> tuple[int, Diagnostic]:
    message = _one_line(m["message"] or name)
    if name in _TRITON:
        at = _TRITON_AT.search(text, m.start(), m.end() + 200)
        return m.start(), Diagnostic(
            "triton",
            "error",
            _triton_message(text, m, message),
            line=_int(at["line"]) if at else None,
            col=_int(at["col"]) if at else None,
            code=name,
            class_="compile.triton",
        )
    file = line = None
    if inline := _INLINE.search(message):
        file, line = base_name(inline["file"]), _int(inline["line"])
    elif name in _IMPORTING and (frames := list(_FRAME.finditer(text, max(0, m.start() - 600), m.start()))):
        file, line = base_name(frames[-1]["file"]), _int(frames[-1]["line"])
    return m.start(), Diagnostic(
        "python", "error", message, file, line, code=name, class_=classify_python(name, message)
    )


def _triton_message(text: str, m: re.Match[str], message: str) -> str:
    """Triton prints the place and the source first; what is wrong stands in the last line."""
    if not _TRITON_AT.match(message):
        return message
    lines = [ln.strip() for ln in text[m.end() : m.end() + 4000].splitlines()]
    said = [ln for ln in lines if ln and not ln.startswith(("^", "Traceback", "File "))]
    return _one_line(said[-1]) if said else message


def _told(text: str) -> Diagnostic | None:
    """Builds that failed with no more than a sentence of the harness."""
    if "ModelNew not found" in text or "ModelNew class not found" in text:
        return Diagnostic(
            "python",
            "error",
            "ModelNew not found or syntax error",
            code=None,
            class_="compile.modelnew_or_syntax",
        )
    m = _PREFIX.match(text)
    if m and (name := re.match(r"(\w+(?:Error|Exception))\b", m["first"])):
        return Diagnostic(
            "python",
            "error",
            _one_line(text[m.end() :].strip() or m["first"]),
            code=name[1],
            class_="compile.masked_by_stdout",
        )
    return None


def rows(
    run_id: str, text: str, *, building: bool, turn: int | None = None, seq: int | None = None
) -> list[CompileError]:
    """The diagnostics of an output as records."""
    return [
        CompileError(
            run_id=run_id,
            turn=turn,
            seq=seq,
            ordinal=i,
            toolchain=d.toolchain,
            severity=d.severity,
            file=d.file,
            line=d.line,
            col=d.col,
            code=d.code,
            message=d.message,
            class_=d.class_,
        )
        for i, d in enumerate(parse(text, building=building))
    ]
