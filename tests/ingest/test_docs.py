"""Codes, metrics and formats are documented."""

from __future__ import annotations

import re
from pathlib import Path

from kbstats.ingest import metrics, registry
from kbstats.ingest.issue_codes import CODES

ROOT = Path(__file__).resolve().parents[2]
_USES = re.compile(r"\b(?:issue|partial|reject|report|UnreadableError)\(\s*\"([a-z][a-z_0-9]+)\"")


def used_codes():
    found = {}
    for path in (ROOT / "ingest").rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for code in [*_USES.findall(text), *re.findall(r"'([a-z_]+)' as code", text)]:
            found.setdefault(code, path.name)
    return found


def test_every_issue_code_has_a_meaning():
    missing = {c: where for c, where in used_codes().items() if c not in CODES}
    assert not missing, "add them to ingest/issue_codes.py and docs/ingest-issues.md"


def test_every_issue_code_is_documented():
    text = (ROOT / "docs" / "ingest-issues.md").read_text(encoding="utf-8")
    for code, meaning in CODES.items():
        assert f"| `{code}` | {meaning} |" in text, code


def test_every_metric_is_documented():
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    for specs in metrics.GROUPS.values():
        for spec in specs:
            assert f"| `{spec.name}` | {spec.unit} |" in text, spec.name


def test_every_format_is_documented():
    text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    missing = [name for name in registry.names() if registry.is_built_in(name) and f"`{name}`" not in text]
    assert not missing
    assert {"popcornbench", "kernelbench", "table", "verification"} <= set(registry.names())
