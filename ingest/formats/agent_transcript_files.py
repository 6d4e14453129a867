"""The solution file as an agent's tool calls left it, where that is certain; else nothing is said.

An agent with a shell can change a file in ways that no log shows. A content counts only if a call wrote
the whole file (a tool with path and content, or a shell's quoted here-document), every later change of
it was an exact replacement, and no later command looks as if it wrote there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kbstats.ingest.rows import ToolCall

NAMES = frozenset({
    "solution.py", "submission.py", "kernel.py", "model_new.py", "solution.cu", "submission.cu", "kernel.cu",
})
"""What harnesses call the file that they judge."""

_ANY_NAME = re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, NAMES))) + r")\b")
_PATHS = ("file_path", "filePath", "path", "filename", "absolute_path", "target_file")
_CONTENTS = ("content", "contents", "file_text", "text")
_OLD, _NEW = ("old_string", "oldString", "old_str"), ("new_string", "newString", "new_str")
_ALL = ("replace_all", "replaceAll")
_READERS = frozenset({
    "read", "read_file", "view", "grep", "glob", "ls", "list_directory", "search", "search_file_content",
})
_HEREDOC = re.compile(
    r"(?:^|[\n;&|]\s*|^\s*)cat\s*(?:>\s*(?P<before>\S+)\s*<<\s*(?P<q1>['\"])(?P<end1>\w+)(?P=q1)"
    r"|<<\s*(?P<q2>['\"])(?P<end2>\w+)(?P=q2)\s*>\s*(?P<after>\S+))[ \t]*\n"
)
_WRITES = re.compile(
    r"(?:>{1,2}\|?\s*\S*NAME|\bsed\s+(?:-\w+\s+)*-\w*i|\bperl\s+-\w*i|\btee\b"
    r"|\b(?:cp|mv|rm|ln|patch|install|truncate|dd|ed|black|isort|autopep8|yapf)\s"
    r"|\bruff\s+format|\bgit\s+(?:apply|checkout|restore|reset|stash|pull|clean)\b|open\s*\(|\.write"
    r"|write_(?:text|bytes)|apply_patch|\*\*\* (?:Update|Delete|Add) File)"
    .replace("NAME", r"(?:" + "|".join(sorted(map(re.escape, NAMES))) + ")")
)


class SolutionFile:
    """Takes the calls in order; `content` is the file's text afterwards, None while it is not certain."""

    def __init__(self) -> None:
        self.content: str | None = None
        self._name: str | None = None

    def take(self, call: ToolCall) -> str | None:
        """One call. Returns the file's whole text if this call wrote it."""
        args = call.args if isinstance(call.args, dict) else {}
        path = _first(args, _PATHS)
        if path is not None:
            return None if call.ok is False else self._tool(call, path, args)
        texts = [v for v in _strings(args) if _ANY_NAME.search(v)]
        if len(texts) == 1:
            return self._shell(texts[0], failed=call.ok is False)
        if texts:
            self.content = None
        return None

    def _tool(self, call: ToolCall, path: str, args: Mapping[str, Any]) -> str | None:
        name = path.replace("\\", "/").rsplit("/", 1)[-1]
        if name not in NAMES or call.tool.lower() in _READERS:
            return None
        old, new = _first(args, _OLD), _first(args, _NEW)
        content = _first(args, _CONTENTS)
        if old is not None and new is not None:
            self._replace(name, old, new, everywhere=any(args.get(k) is True for k in _ALL))
            return None
        if content is not None and args.get("command", "create") == "create":
            return self._written(name, content)
        if args.get("command") == "view" or set(args) <= {*_PATHS, "offset", "limit", "view_range"}:
            return None
        self.content = None  # several edits at once, insertions: not followed
        return None

    def _replace(self, name: str, old: str, new: str, *, everywhere: bool) -> None:
        if self.content is None or name != self._name:
            self.content = None
            return
        n = self.content.count(old) if old else 0
        self.content = self.content.replace(old, new) if n == 1 or (n and everywhere) else None

    def _written(self, name: str, content: str) -> str:
        # two files that are both called like solutions: which one is judged cannot be told
        self.content = content if self._name in {None, name} else None
        self._name = self._name or name
        return content

    def _shell(self, text: str, *, failed: bool) -> str | None:
        """A command that names the file: here-documents first, then what stands around them."""
        written: str | None = None
        rest, done = [], 0
        while m := _HEREDOC.search(text, done):
            target = (m["before"] or m["after"]).strip("'\"").rsplit("/", 1)[-1]
            end = re.compile(rf"^{m['end1'] or m['end2']}[ \t]*$", re.MULTILINE).search(text, m.end())
            if end is None:
                break
            if target in NAMES:
                if _WRITES.search(text[done : m.start()]) and _ANY_NAME.search(text[done : m.start()]):
                    self.content = None
                written = self._written(target, text[m.end() : end.start()])
            else:
                rest.append(text[m.start() : end.end()])
            done = end.end()
        rest.append(text[done:])
        after = "\n".join(rest)
        if _ANY_NAME.search(after) and _WRITES.search(after):
            self.content = None
        # which part of a failed command failed cannot be told; a tab typed into a terminal completes names
        if written is not None and (failed or "\t" in written):
            self.content = None
        return written


def _first(args: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((v for k in keys if isinstance(v := args.get(k), str)), None)


def _strings(value: Any, depth: int = 0) -> list[str]:
    if isinstance(value, str):
        return [value]
    if depth > 3:
        return []
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [s for v in items for s in _strings(v, depth + 1)]
