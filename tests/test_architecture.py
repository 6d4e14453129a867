"""docs/architecture.md is true: its arrows are the imports, its places exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
# The longest first: what a module belongs to.
HOUSES = (
    "analytics/verify/runner", "analytics/verify", "analytics/commands", "analytics/executors", "analytics/cli", "analytics",
    "ingest/formats", "ingest", "site/pages", "site", "sql", "data",
)  # fmt: skip


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n", 1)[1].split("\n## ", 1)[0]


def documented() -> dict[str, set[str]]:
    rows = re.findall(r"^\| `([a-z/]+)` \| ([^|]*) \|", section("The arrows"), re.MULTILINE)
    return {name: set(re.findall(r"`([a-z/]+)`", may)) for name, may in rows}


def house(path: str) -> str | None:
    return next((h for h in HOUSES if path == h or path.startswith((f"{h}/", f"{h}."))), None)


def module_path(name: str) -> str:
    """The file or folder that a dotted name of ours is in."""
    parts = name.split(".")[1:]
    while parts and not (ROOT.joinpath(*parts).is_dir() or ROOT.joinpath(*parts).with_suffix(".py").is_file()):
        parts.pop()
    return "/".join(parts)


def arrows() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {h: set() for h in HOUSES}
    for folder in {h.split("/")[0] for h in HOUSES}:
        for path in (ROOT / folder).rglob("*.py"):
            relative = path.relative_to(ROOT)
            if {"problems", "runs", "shims"} & set(relative.parts):
                continue
            names: set[str] = set()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    names |= {a.name for a in node.names}
                elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    names |= {f"{node.module}.{a.name}" for a in node.names}
            mine = house(relative.as_posix())
            targets = {house(module_path(n)) for n in names if n.startswith("kbstats.")}
            found[mine] |= {t for t in targets if t and t != mine}
    return found


def test_the_arrows_are_the_imports() -> None:
    assert documented() == arrows()


def test_every_folder_of_code_is_a_house() -> None:
    assert set(documented()) == set(HOUSES)


@pytest.mark.parametrize("place", sorted(set(re.findall(r"`((?:sql|data|ingest|analytics|site)/[\w/.]+)`", PAGE))))
def test_every_place_exists(place: str) -> None:
    assert (ROOT / place).exists() or (ROOT / f"{place}.py").is_file()
