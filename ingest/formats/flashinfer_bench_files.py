"""Definitions and solutions of a flashinfer-bench data set, and where they lie beside a trace."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kbstats.ingest import decode
from kbstats.ingest.formats.exec_result import mapping
from kbstats.ingest.hashing import source_sha256
from kbstats.ingest.rows import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source

SUITE = "flashinfer-bench"
MAX_FILES = 5000
"""Solutions looked at for one trace file; a listing must stay cheap."""


class Solution(NamedTuple):
    """One solution: who wrote it, in what, and its text's hash."""

    author: str | None
    language: str | None
    kernel_sha256: str | None


class Dataset:
    """The data set that a trace file lies in: the folder above the nearest `traces`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        at = next((i for i in range(len(path.parts) - 2, -1, -1) if path.parts[i] == "traces"), None)
        self.root = None if at is None else Path(*path.parts[:at])
        self.below = () if at is None else path.parts[at + 1 : -1]

    def companions(self) -> Iterator[Path]:
        """Files whose name, or whose folder's name, the trace file's own name holds."""
        if self.root is None:
            return
        stem = self.path.stem
        for folder in dict.fromkeys((self.root.joinpath("definitions", *self.below), self.root / "definitions")):
            yield from (p for p in sorted(folder.glob("*.json")) if p.stem in stem and p.is_file())
        for n, path in enumerate(self.root.joinpath("solutions", *self.below).rglob("*.json")):
            if n >= MAX_FILES:
                return
            if (path.stem in stem or path.parent.name == stem) and path.is_file():
                yield path


def definition_of(document: dict[str, Any]) -> str | None:
    """The name of a definition; None for another document."""
    name = document.get("name")
    return name if isinstance(name, str) and name and isinstance(document.get("axes"), dict) else None


def read_definition(source: Source, batch: Batch, document: dict[str, Any]) -> None:
    """A definition as a problem: its reference is the one that traces are timed against."""
    text = document.get("reference")
    reference = text if isinstance(text, str) and text.strip() else None
    axes = mapping(document.get("axes")).values()
    batch.add(
        Problem(
            source_id=source.source_id,
            suite=SUITE,
            problem_name=definition_of(document),
            source_code=reference,
            source_sha256=source_sha256(reference) if reference else None,
            # an axis of type `var` has another length in every workload
            draws_shapes=any(mapping(a).get("type") == "var" for a in axes),
        )
    )


def read_solution(document: dict[str, Any], batch: Batch) -> Solution:
    """A solution; its files become one text, the entry point's first, each under its name."""
    spec = mapping(document.get("spec"))
    files = (
        [
            (s["path"] if isinstance(s.get("path"), str) else "", s["content"])
            for s in document.get("sources") or ()
            if isinstance(s, dict) and isinstance(s.get("content"), str)
        ]
        if isinstance(document.get("sources"), list)
        else []
    )
    entry = str(spec.get("entry_point") or "").split("::", 1)[0]
    files.sort(key=lambda f: f[0] != entry)
    text = files[0][1] if len(files) == 1 else "\n".join(f"// file: {path}\n{content}" for path, content in files)
    author, language = document.get("author"), spec.get("language")
    return Solution(
        author if isinstance(author, str) and author else None,
        language if isinstance(language, str) and language else None,
        batch.kernel(text),
    )


def beside(source: Source, batch: Batch) -> tuple[dict[str, str | None], dict[str, Solution]]:
    """What lies beside a trace file: hashes of references by definition, solutions by name."""
    references: dict[str, str | None] = {}
    solutions: dict[str, Solution] = {}
    for path in source.companions:
        try:
            document = mapping(decode.untyped(source.read(path), batch))
        except (OSError, decode.UnreadableError) as e:
            batch.issue("unreadable_companion", f"cannot be read: {e}", path=str(path))
            continue
        name = document.get("name")
        if not isinstance(name, str):
            continue
        if "sources" in document:
            solutions[name] = read_solution(document, batch)
        elif definition_of(document) and isinstance(document.get("reference"), str):
            references[name] = source_sha256(document["reference"])
    return references, solutions
