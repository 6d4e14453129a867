"""Results of re-running kernels: JSON lines whose `schema` is `kbstats.verification/1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbstats.ingest import jsonlines, metrics
from kbstats.ingest.batch import Batch, columns_of
from kbstats.ingest.format import EXACT, NO, Format, Source
from kbstats.ingest.lenient import Report, to_bool, to_float, to_int, to_str
from kbstats.ingest.rows import Verification, VerificationCheck, VerificationTiming
from kbstats.ingest.times import utc

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "kbstats.verification/1"
REQUIRED = ("verification_id", "kernel_sha256", "verdict")
_SCALARS = {"str": to_str, "int": to_int, "float": to_float, "bool": to_bool}
WORDS = frozenset({
    "CONFIRMED", "CONFIRMED_FASTER", "CONFIRMED_REDUCED", "SLOWER_THAN_CLAIMED", "NO_SPEEDUP", "INCONCLUSIVE",
    "INCORRECT", "FLAKY", "HACK", "SUSPECT", "IMPLAUSIBLE", "DEGENERATE_PROBLEM", "BUILD_FAILED", "CRASHED",
    "TIMEOUT", "UNVERIFIABLE",
})
"""What a verdict may be, before its colon."""
PASSED = frozenset({"CONFIRMED", "CONFIRMED_FASTER", "CONFIRMED_REDUCED", "SLOWER_THAN_CLAIMED", "NO_SPEEDUP"})
"""Words that only a kernel whose results were right can earn."""
DEFAULTS = {"correctness": "unknown", "speed": "not_measured"}


class VerificationFormat(Format):
    """One result a line. A line that cannot be read is an issue; the others stay."""

    name = "verification"
    suffixes = frozenset({".jsonl", ".ndjson", ".json"})

    def sniff(self, path: Path, head: bytes) -> int:  # noqa: ARG002  the name says nothing
        """By the schema's name in the first line."""
        return EXACT if b'"kbstats.verification/' in head.split(b"\n", 1)[0] else NO

    def read(self, source: Source, batch: Batch) -> None:
        """All results of the file."""
        seen: set[str] = set()
        for where, document in jsonlines.of_schema(source.read(), batch, SCHEMA):
            if missing := [k for k in REQUIRED if not isinstance(document.get(k), str)]:
                batch.issue(
                    "bad_line", f"without {', '.join(missing)}; left out", severity="error", location=where
                )
            elif wrong := contradiction(document):
                batch.issue("bad_line", f"{wrong}; left out", severity="error", location=where)
            elif document["verification_id"] in seen:
                batch.issue(
                    "duplicate_verification",
                    "stands in the file twice; the first is kept",
                    location=document["verification_id"],
                )
            else:
                seen.add(document["verification_id"])
                _read(source.source_id, batch, document, where)


FORMAT = VerificationFormat()


def contradiction(document: dict[str, Any]) -> str | None:
    """What a result says against itself; such a line was not written by the verifier."""
    word = document["verdict"].partition(":")[0]
    correctness = document.get("correctness")
    if word not in WORDS:
        return f"the verdict {word[:40]!r} is no known one"
    if word in PASSED and correctness != "passed":
        return f"{word} without correctness `passed`"
    if word == "INCORRECT" and correctness == "passed":
        return "INCORRECT with correctness `passed`"
    return _speed(word, document)


def _speed(word: str, document: dict[str, Any]) -> str | None:
    told = {k: document.get(k) for k in ("speedup", "speedup_lo", "speedup_hi")}
    numbers = {k: metrics.positive(v) for k, v in told.items()}
    for key, value in told.items():
        if value is not None and numbers[key] is None:
            return f"{key} is no finite number above 0"
    speedup, lo, hi = numbers.values()
    if speedup is None:
        return "an interval without a speedup" if lo or hi else None
    return _interval(speedup, lo, hi) or _word(word, document.get("speed"), speedup)


def _interval(speedup: float, lo: float | None, hi: float | None) -> str | None:
    if (lo is not None and lo > speedup) or (hi is not None and hi < speedup):
        return "the speedup lies outside of its own interval"
    return None


def _word(word: str, speed: object, speedup: float) -> str | None:
    if speed == "not_measured":
        return "a speedup that was not measured"
    if (speed == "faster" and speedup <= 1) or (speed == "slower" and speedup >= 1):
        return f"speed `{speed}` with a speedup of {speedup:g}"
    if word == "CONFIRMED_FASTER" and speedup <= 1:
        return f"{word} with a speedup of {speedup:g}"
    return None


def _read(source_id: str, batch: Batch, document: dict[str, Any], where: str) -> None:
    def report(code: str, message: str, location: str) -> None:
        batch.issue(code, message, location=f"{where} {location}")

    known = {**document, "document": document, "source_id": source_id}
    for key, value in DEFAULTS.items():
        if not isinstance(known.get(key), str):
            known[key] = value
    values = _values(Verification.table, known, report, batch, where)
    batch.keys.add(f"verification {values['verification_id']}")
    batch.add(Verification(**values))
    for i, check in enumerate(_objects(document.get("checks"))):
        row = _values(
            VerificationCheck.table, {**check, **_ids(values)}, report, batch, f"{where} /checks/{i}"
        )
        if row.get("gate"):
            batch.add(VerificationCheck(**row))
    for i, timing in enumerate(_objects(document.get("timings"))):
        row = _values(
            VerificationTiming.table,
            {"pair": i, **timing, **_ids(values)},
            report,
            batch,
            f"{where} /timings/{i}",
        )
        if row.get("baseline") and row.get("pair") is not None:
            batch.add(VerificationTiming(**row))


def _ids(values: dict[str, Any]) -> dict[str, Any]:
    return {"verification_id": values["verification_id"], "source_id": values["source_id"]}


def _objects(value: Any) -> list[dict[str, Any]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _values(
    table: str, found: dict[str, Any], report: Report, batch: Batch, where: str
) -> dict[str, Any]:
    """The keys that the table declares, each as its column's type."""
    out: dict[str, Any] = {}
    for attr, column, kind in columns_of(table):
        value, pointer = found.get(column), f"/{column}"
        if value is None:
            continue
        if convert := _SCALARS.get(kind):
            value = convert(value, report, pointer)
        elif kind == "time":
            value = utc(value, batch, f"{where} {pointer}")
        elif kind == "strings":
            value = [str(v) for v in value] if isinstance(value, list) else [str(value)]
        if value is not None:
            out[attr] = value
    return out
