"""inspect_ai's evaluation logs: `.eval` archives and JSON documents; one run a sample and epoch.

_journal/start.json, header.json, samples/{id}_epoch_{n}.json, summaries.json, reductions.json
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
from kbstats.ingest import decode, lenient
from kbstats.ingest.batch import OK, PARTIAL, Batch
from kbstats.ingest.format import CONTENT, EXACT, NAME, NO, Format, Source
from kbstats.ingest.formats.inspect_ai_records import Log, Sample, Spec
from kbstats.ingest.formats.inspect_ai_sample import HARNESS, SampleReader
from kbstats.ingest.formats.inspect_ai_zip import Archive, MemberError

if TYPE_CHECKING:
    from pathlib import Path

HEADER, START = "header.json", "_journal/start.json"
_SAMPLE = re.compile(r"samples/.+_epoch_\d+\.json", re.DOTALL)
_DOCUMENT = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"(?:version|status|eval)"')
_LOG_EXTRA = (
    "task_id", "task_version", "task_args", "eval_id", "created", "model_args", "config", "revision", "packages",
    "tags", "metadata",
)


class InspectAi(Format):
    """Logs of both kinds, finished, running and crashed."""

    name = HARNESS
    suffixes = frozenset({".eval", ".json"})

    def sniff(self, path: Path, head: bytes) -> int:
        """An archive that is named like one, or begins with the journal; a document with a log's first keys."""
        if head.startswith(b"PK"):
            if path.suffix.lower() == ".eval":
                return EXACT
            return CONTENT if START.encode() in head[:200] else NO
        if path.suffix.lower() == ".eval":
            return NAME if not head else NO
        marked = all(k in head for k in (b'"eval"', b'"run_id"', b'"task"', b'"model"'))
        return CONTENT if marked and _DOCUMENT.match(head) else NO

    def read(self, source: Source, batch: Batch) -> None:
        """All samples that are there."""
        data = source.read()
        if data.startswith(b"PK") or source.path.suffix.lower() == ".eval":
            _archive(source, batch, data)
        else:
            _document(source, batch, data)


FORMAT = InspectAi()


def _archive(source: Source, batch: Batch, data: bytes) -> None:
    try:
        archive = Archive(data)
    except MemberError as e:
        if e.code == "not_zip":
            batch.reject(e.code, e.message)
        else:
            batch.partial(e.code, e.message)
        return
    names = archive.names()
    log = _header(archive, names, batch)
    if log is None:
        return
    for name in names:
        if not _SAMPLE.fullmatch(name):
            continue
        try:
            body = archive.read(name)
        except MemberError as e:
            _broken(batch, e.code, e.message, name)
            if e.code == "archive_too_large":
                break
            continue
        _sample(source, batch, log, body, name)


def _header(archive: Archive, names: list[str], batch: Batch) -> Log | None:
    """The header, or what a running log wrote at its start; None, and the file rejected, without either."""
    for name in (HEADER, START):
        if name not in names:
            continue
        try:
            log, _ = decode.typed(archive.read(name), Log, batch)
        except MemberError as e:
            _broken(batch, e.code, e.message, name)
        except decode.UnreadableError as e:
            _broken(batch, "bad_member", e.message, name)
        else:
            if log.eval is None:
                continue
            if name == START:
                batch.issue("log_running", "the log has no header yet: the evaluation runs, or was killed")
                log.status = log.status or "started"
            return log
    batch.reject("not_an_eval_log", "the archive holds neither a header nor a journal")
    return None


def _broken(batch: Batch, code: str, message: str, name: str) -> None:
    """A member is missing: the file is read in part."""
    if batch.status == OK:
        batch.status = PARTIAL
    batch.issue(code, message, severity="error", location=name[:200])


def _document(source: Source, batch: Batch, data: bytes) -> None:
    try:
        log, _ = decode.typed(data, Log, batch)
    except decode.UnreadableError as e:
        if e.code == "not_json":
            batch.reject(e.code, e.message, location=e.location)
            return
        batch.partial(e.code, e.message, location=e.location)
        found = decode.whole_entries(e.text) if e.text else {}
        log = lenient.build(Log, found, decode.report_to(batch))
    if log.eval is None:
        if batch.status == OK:
            batch.reject("not_an_eval_log", "the document has no `eval`")
        return
    for i, body in enumerate(log.samples or ()):
        _sample(source, batch, log, body, f"/samples/{i}")


def _sample(source: Source, batch: Batch, log: Log, body: Any, where: str) -> None:
    """One sample: bytes of a member, the undecoded part of a document, or objects of the slow path."""
    unknown: dict[str, Any] = {}
    if isinstance(body, (bytes, msgspec.Raw)):
        try:
            sample, unknown = decode.typed(bytes(body), Sample, batch)
        except decode.UnreadableError as e:
            _broken(batch, "bad_member", f"the sample cannot be read: {e.message}", where)
            return
    elif isinstance(body, dict):
        sample = lenient.build(Sample, body, decode.report_to(batch), where)
        unknown = {k: v for k, v in body.items() if k not in lenient.known_keys(Sample)}
    else:
        batch.issue("type_dropped", "expected a sample's object; left out", location=where)
        return
    if sample.id is None and sample.epoch is None and sample.messages is None:
        batch.issue("type_dropped", "the object has none of the keys of a sample; left out", location=where)
        return
    SampleReader(source.source_id, batch, log.eval or Spec(), where).read(sample, unknown, _log_extra(log))


def _log_extra(log: Log) -> dict[str, Any]:
    spec = log.eval or Spec()
    found = {k: v for k in _LOG_EXTRA if (v := getattr(spec, k)) not in (None, [], {}, "")}
    return {"version": log.version, "status": log.status, **found}
