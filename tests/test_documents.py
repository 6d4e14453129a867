"""What the documents show is what the commands print; the documentation builds strictly and stays at home."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
_spec = importlib.util.spec_from_file_location("docs_console", DOCS / "console.py")
console = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(console)


@pytest.mark.parametrize("page", console.PAGES)
def test_the_page_shows_what_its_commands_print(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert console.BLOCK.search(text)
    assert text == console.fresh(page, text), "run `make docs`"


def test_every_page_with_commands_is_run() -> None:
    pages = [ROOT / "README.md", *DOCS.rglob("*.md")]
    found = {p.relative_to(ROOT).as_posix() for p in pages if console.BLOCK.search(p.read_text(encoding="utf-8"))}
    assert found == set(console.PAGES)


def test_commands_go_on_over_lines_and_what_differs_is_masked(tmp_path: Path) -> None:
    assert console.commands("$ a\nout\n$ b \\\n  c \\\n  d\nout \\\n$ e\n") == ["a", "b \\\n  c \\\n  d", "e"]
    text = f"built in 1.25 s, 3.4 MiB\nread 2026-01-02 03:04 UTC at {tmp_path}/x\n12 files written  \n"
    assert console.stable(text, tmp_path) == "built in … s, … KiB\nread … UTC at …/x\n… files written\n"
    session = console.Session(tmp_path)
    session.run("export X=1")
    assert session.run("echo $X; echo bad >&2; exit 3") == "1\nbad\n(exit status 3)\n"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation, built from a copy: strictly, so that a warning fails."""
    place = tmp_path_factory.mktemp("docs")
    shutil.copytree(DOCS, place / "docs", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "zensical.toml", place)
    exe = Path(sys.executable).with_name("zensical")
    p = subprocess.run([exe, "build", "--strict", "--clean"], cwd=place, capture_output=True, text=True)
    assert p.returncode == 0, p.stdout + p.stderr
    assert "No issues found" in p.stdout + p.stderr
    return place / "build" / "docs"


def test_every_page_is_in_the_menu_or_linked(built: Path) -> None:
    pages = {p.relative_to(DOCS).with_suffix(".html") for p in DOCS.rglob("*.md")}
    assert not [p for p in pages if not (built / p).is_file()]
    nav = (ROOT / "zensical.toml").read_text(encoding="utf-8")
    top = {p.relative_to(DOCS).as_posix() for p in (*DOCS.glob("*.md"), *DOCS.glob("how-to/*.md"))}
    assert top == set(re.findall(r'"([\w/-]+\.md)"', nav))
    tomllib.loads(nav)


def test_the_documentation_asks_no_other_host(built: Path) -> None:
    """Links may lead away; nothing is loaded from there."""
    loads = re.compile(r"""<(?:script|img|iframe|source|video|audio)\b[^>]*\bsrc=["']?(?:https?:)?//|<link\b[^>]*>|@import|url\(\s*["']?(?:https?:)?//""")
    for path in built.rglob("*"):
        if path.suffix in {".html", ".css"}:
            for m in loads.finditer(path.read_text(encoding="utf-8")):
                assert m[0].startswith("<link"), f"{path.name}: {m[0][:200]}"
                outside = re.search(r"""href=["']?(?:https?:)?//""", m[0])
                assert not outside or re.search(r"rel=[\"']?(canonical|alternate)", m[0]), f"{path.name}: {m[0][:200]}"


def test_anchors_between_pages_exist(built: Path) -> None:
    for path in built.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for target, anchor in re.findall(r'href="([^":]*\.html)?#([^"]+)"', text):
            page = (path.parent / target) if target else path
            if page.is_file() and anchor and not anchor.startswith("__"):
                assert f'id="{anchor}"' in page.read_text(encoding="utf-8"), f"{path.name} -> {target}#{anchor}"
