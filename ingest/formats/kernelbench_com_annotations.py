"""Audits of kernelbench.com: one YAML file a run, with a verdict, its reasons, and quotes from the files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode
from kbstats.ingest.formats.exec_result import located
from kbstats.ingest.formats.kernelbench_com_runs import run_id_of
from kbstats.ingest.formats.yaml_text import document as yaml_document
from kbstats.ingest.lenient import build
from kbstats.ingest.rows import Annotation

if TYPE_CHECKING:
    from kbstats.ingest.batch import Batch
    from kbstats.ingest.format import Source

SITE = "kernelbench.com"
"""Who speaks where a file names no auditor."""
_NOT_SAID = frozenset(
    {"run_id", "model", "harness", "effort", "problem", "verdict", "peak_fraction", "gpu", "gpu_name"}
)
"""Keys that say which run it is, not what is said of it."""
_FIRST = ("summary", "implication", "contamination")
_LINE = re.compile(r"^(?P<key>run_id|verdict):[ \t]*[\"']?(?P<value>[^\"'#\n]+)", re.MULTILINE)
_ID = re.compile(r"\d{8}_\d{6}_\S+")


class Quote(msgspec.Struct):
    """One passage."""

    file: str | None = None
    lines: Any = None
    label: str | None = None
    text: str | None = None


class Audit(msgspec.Struct):
    """What identifies it; all other keys are what it says."""

    run_id: str | None = None
    verdict: str | None = None
    auditor: str | None = None
    quotes: list[Quote] | None = None


def annotate(source: Source, batch: Batch) -> None:
    """One annotation. A file that is no YAML still gives its verdict, with its text as it stands."""
    try:
        document = yaml_document(source.read(), batch)
    except decode.UnreadableError as e:
        if e.code == "empty_file":
            batch.partial(e.code, e.message, location=e.location)
            return
        found = {m["key"]: m["value"].strip() for m in _LINE.finditer(e.text)}
        if "verdict" not in found:
            batch.reject(e.code, e.message, location=e.location)
            return
        batch.issue("bad_yaml", f"{e.message}; the verdict is read, the rest kept as text", location=e.location)
        _add(source, batch, run=found.get("run_id"), verdict=found["verdict"], text=e.text, auditor=None)
        return
    if not isinstance(document, dict):
        batch.reject("not_an_annotation", "the document is no mapping")
        return
    audit: Audit = build(Audit, document, located(batch, ""))
    text = _text(document, audit.quotes or [])
    _add(source, batch, run=audit.run_id, verdict=audit.verdict, text=text, auditor=audit.auditor)


def _add(source: Source, batch: Batch, *, run: str | None, verdict: str | None, text: str, auditor: str | None) -> None:
    run = (run or "").strip() or source.path.stem
    if not _ID.fullmatch(run):
        batch.reject("not_an_annotation", "neither the file nor its name says which run it is about")
        return
    batch.add(
        Annotation(
            source_id=source.source_id,
            run_id=run_id_of(run),
            verdict=(verdict or "").strip() or None,
            text=text.strip() or None,
            author=_author(auditor),
        )
    )


def _author(auditor: str | None) -> str:
    """The name in front: what follows it says how the audit was made, and stands in the text."""
    name = " ".join((auditor or "").split()).split(",", 1)[0].split(". ", 1)[0].strip(" .;")
    return name[:80] or SITE


def _text(document: dict[str, Any], quotes: list[Quote]) -> str:
    """All that is said, with each part under its key; the quotes as `file:lines label` and the passage."""
    keys = [k for k in _FIRST if k in document] + [k for k in document if k not in _FIRST]
    parts = []
    for key in keys:
        if key in _NOT_SAID or (key == "quotes" and quotes):
            continue
        if said := _said(document[key]):
            parts.append(f"{key}: {said}")
    parts += [_quoted(q) for q in quotes]
    return "\n\n".join(p for p in parts if p)


def _said(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or value in ([], {}):
        return ""
    return msgspec.json.encode(value).decode() if isinstance(value, (dict, list)) else str(value)


def _quoted(q: Quote) -> str:
    lines = q.lines if isinstance(q.lines, list) else []
    span = "-".join(dict.fromkeys(str(n) for n in lines if isinstance(n, int)))
    place = f"{q.file or ''}:{span}" if span else q.file or ""
    head = " ".join(x for x in (place, q.label or "") if x)
    return "\n".join(x for x in (f"quote: {head}" if head else "", (q.text or "").rstrip()) if x)
