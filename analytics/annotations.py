"""What a person says of a run, as lines of a file that is ingested like any other."""

from __future__ import annotations

import getpass
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kbstats.ingest.errors import KbstatsError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = "kbstats.annotation/1"
FILE = "annotations.jsonl"

VERDICTS = ("clean", "disputed", "bug", "reward_hack", "contamination", "harness_limited", "interesting", "note")
"""Words that readers of a board know; any other word is taken too, in lower case."""


def line(
    run_id: str, verdict: str, text: str, *, author: str | None = None, finding: str | None = None
) -> dict[str, Any]:
    """One statement about a run.

    Args:
        run_id: The run.
        verdict: One word: `disputed`, `clean`, `reward_hack` …
        text: The reasons.
        author: Who says so; None takes the name of the user who runs this.
        finding: Code of the audit that the statement is about, where it is about one.

    Raises:
        UsageError: an empty text, or a verdict of several words.
    """
    word = verdict.strip().lower().replace("-", "_")
    if not word or not word.replace("_", "").isalnum():
        raise UsageError(f"a verdict is one word, not {verdict!r}", hint=", ".join(VERDICTS))
    if not text.strip():
        raise UsageError("an annotation gives its reasons", hint="--text")
    return {
        "schema": SCHEMA,
        "run_id": run_id,
        "verdict": word,
        "text": text.strip(),
        "author": author or _user(),
        **({"finding": finding} if finding else {}),
        "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _user() -> str | None:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such user in this container
        return None


def append(path: Path, record: dict[str, Any]) -> None:
    """Add one line to the file; it is made where it is missing.

    Raises:
        KbstatsError: it cannot be written, or its first line is of another kind.
    """
    try:
        with path.open("a+", encoding="utf-8") as f:
            f.seek(0)
            first = f.readline()
            if first.strip() and SCHEMA not in first:
                raise KbstatsError("this file holds no annotations", location=path, hint="name another with --file")
            f.seek(0, 2)
            f.write(json.dumps(record, ensure_ascii=False) + "\n")
    except OSError as e:
        raise KbstatsError(f"cannot be written: {e.strerror or e}", location=path) from e
