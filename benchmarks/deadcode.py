"""Functions, classes and methods that nothing uses: not the code, not its tests, no entry point.

usage: python benchmarks/deadcode.py

Fields of records are left alone: what a format declares is used by being there. What a template names is used.
"""

from __future__ import annotations

import re
import sys

from tree import ROOT

KINDS = {"function", "class", "method", "property", "import", "unreachable_code"}
DECORATORS = ["@app.command", "@app.callback", "@pytest.fixture", "@functools.cache"]
OURS = ("analytics", "ingest", "sql", "site", "data", "benchmarks", "docs")


def unused() -> list[str]:
    """A line for each, with its place."""
    from vulture import Vulture

    # What is found by its name: entry points, Python's own protocols, the parser's handlers.
    named = set(re.findall(r":(\w+)\"", (ROOT / "pyproject.toml").read_text(encoding="utf-8")))
    for page in (ROOT / "site" / "templates").rglob("*.html"):
        named |= set(re.findall(r"\w+", page.read_text(encoding="utf-8")))
    for module in (ROOT / "analytics" / "verify" / "runner").glob("*.py"):  # workers are asked by the operation's name
        named |= set(re.findall(r'"(\w+)"', module.read_text(encoding="utf-8")))
    named |= {"__*__", "pytest_*", "load_bytecode", "dump_bytecode", "create_module", "format_commands"}
    named |= {"visit_*", "macro_def"}  # handlers of a template parser
    found = Vulture(ignore_names=sorted(named), ignore_decorators=DECORATORS)
    skipped = ["*/attempts/*", "*/shims/*", "*/typecheck/*", "*/problems/*", "*/runs/*", "*/tests/data/*"]
    found.scavenge([str(ROOT / folder) for folder in (*OURS, "tests")], exclude=skipped)
    items = [i for i in found.get_unused_code(min_confidence=60) if i.typ in KINDS]
    places = [(i.filename.relative_to(ROOT).as_posix(), i) for i in items]
    return [f"{p}:{i.first_lineno}: {i.typ} {i.name} is used by nothing" for p, i in places if p.startswith(OURS)]


if __name__ == "__main__":
    lines = unused()
    print("\n".join(lines) or "nothing is unused")
    sys.exit(1 if lines else 0)
