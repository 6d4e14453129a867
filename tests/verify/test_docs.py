"""The page on verification names every gate, verdict and badge that the code can give."""

from __future__ import annotations

import re
from pathlib import Path

from kbstats.analytics.verify import schema, show
from kbstats.analytics.verify.runner import gates, hints

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/verification.md").read_text(encoding="utf-8")
RUNNER = ROOT / "analytics/verify/runner"


def test_gates_verdicts_and_badges_are_documented() -> None:
    assert not [g for g in gates.NAMES if f"| {g} |" not in PAGE]
    assert not [w for w in schema.Word.__args__ if w not in PAGE]
    badges = {
        b for p in RUNNER.glob("*.py") for b in re.findall(r'badge\(\s*"([A-Z_]+)"', p.read_text(encoding="utf-8"))
    }
    badges |= set(re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', (RUNNER / "attribution.py").read_text(encoding="utf-8")))
    badges |= {"SHAPE_UNSAFE", "LAYOUT_UNSAFE", *(f"SUSPECT:{name}" for name in hints.HINTS)}
    assert badges
    assert not [b for b in badges if b not in PAGE]


def test_every_kind_of_hack_is_documented_and_has_words_on_the_site() -> None:
    from kbstats.site import witness

    text = "".join(p.read_text(encoding="utf-8") for p in RUNNER.glob("*.py"))
    kinds = {*re.findall(r'Refusal\(\s*"HACK",\s*"(\w+)"', text), "stream", "deferred", "cache_replay"}
    assert len(kinds) > 8
    assert not [k for k in kinds if k not in PAGE or k not in witness._WRONG]


def test_every_verdict_has_words_for_a_person() -> None:
    assert set(schema.Word.__args__) == set(show.MEANING)


def test_modules_of_the_runner_are_small_and_need_torch_alone() -> None:
    import ast
    import sys

    for path in RUNNER.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert len(text.splitlines()) <= 400, path.name
        for node in ast.walk(ast.parse(text)):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                assert name.split(".")[0] in set(sys.stdlib_module_names) | {"torch"}, (path.name, name)
