"""Finding a run's reference in a suite's checkout."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from kbstats.ingest.errors import KbstatsError

if TYPE_CHECKING:
    from collections.abc import Iterator

SELF = {"original", "default", "", None}
"""Variants that are the level's folder itself."""

NEVER = {"torch", "triton", "numpy", "math", "typing"}
"""Modules that no checkout provides."""

MAX_HELPERS = 40
"""More files than this are no small helpers: the environment lacks a package."""


def find_reference(folder: Path, level: int | None, variant: str | None, name: str | None) -> Path | None:
    """Return the reference's file, or None.

    Looked for as `level{L}/[variant/]{name}` below the checkout and below its `KernelBench` folder.
    """
    if not name or level is None:
        return None
    file = Path(name).name
    for base in _bases(folder):
        place = base / f"level{level}"
        path = (place if variant in SELF else place / str(variant)) / file
        for candidate in (path, path.with_name(path.name + ".py")):
            if candidate.is_file():
                return candidate
    return None


def _bases(folder: Path) -> Iterator[Path]:
    yield folder
    for name in ("KernelBench", "kernelbench", "problems", "data"):
        if (folder / name).is_dir():
            yield folder / name
            if (folder / name / "KernelBench").is_dir():
                yield folder / name / "KernelBench"


def expected_place(folder: Path, level: int | None, variant: str | None, name: str | None) -> str:
    """Return the path that `find_reference` would have liked best, for a message."""
    part = "" if variant in SELF else f"{variant}/"
    return str(folder / f"level{level}" / f"{part}{name}")


def helpers(reference: str, file: Path, folder: Path, provided: set[str]) -> dict[str, str]:
    """Return the suite's own modules that a reference imports: relative path -> source.

    Args:
        reference: its source.
        file: where it stands.
        folder: the checkout.
        provided: modules that a shim makes; those are not looked for.

    Raises:
        KbstatsError: if the imports pull in more than a few files.
    """
    found: dict[str, str] = {}
    todo = [reference]
    roots = [folder, folder / "src", file.parent]
    while todo:
        for module in _imports(todo.pop()):
            if module in provided or module.split(".")[0] in NEVER | set(sys.stdlib_module_names):
                continue
            for path, name in _files(module, roots):
                if name not in found:
                    found[name] = path.read_text(encoding="utf-8", errors="replace")
                    todo.append(found[name])
        if len(found) > MAX_HELPERS:
            raise KbstatsError(
                f"it imports over {MAX_HELPERS} files of its suite",
                location=file,
                hint="give the names it needs with --shim FILE",
            )
    return found


def _imports(source: str) -> Iterator[str]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(module: str, roots: list[Path]) -> Iterator[tuple[Path, str]]:
    """Yield the files of a module and of the packages around it, each with its path below the first root that has it."""  # noqa: E501  one line for a person
    parts = module.split(".")
    for root in roots:
        found = []
        for depth in range(1, len(parts) + 1):
            base = root.joinpath(*parts[:depth])
            for path in (base / "__init__.py", base.with_suffix(".py")):
                if path.is_file():
                    found.append((path, str(path.relative_to(root))))  # noqa: PERF401  reads better as a loop
        if found:
            yield from found
            return
