"""The documentation is true: generated pages are current, and nothing public is left out."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"


def generator():
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["tables.md", "cli.md", "failure-classes.md", "audits.md"])
def test_generated_pages_are_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == generator().PAGES[name](), "run `make docs`"


def test_every_command_has_help() -> None:
    import typer.main
    from kbstats.analytics.cli import app

    for name, command in generator()._commands(typer.main.get_command(app), ("kbstats",)):
        assert command.help, name


def test_every_failure_class_is_documented() -> None:
    from kbstats.analytics import taxonomy

    text = (DOCS / "failure-classes.md").read_text(encoding="utf-8")
    missing = [c["id"] for c in taxonomy.classes() if f"`{c['id']}`" not in text]
    assert not missing


def test_every_audit_is_documented() -> None:
    from kbstats.sql import catalog

    text = (DOCS / "audits.md").read_text(encoding="utf-8")
    missing = [a.name for a in catalog.sql_files("audits") if f"`{a.name}`" not in text]
    assert not missing


def test_links_between_documents_resolve() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS.rglob("*.md"), ROOT / "data" / "README.md"]
    for page in pages:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.relative_to(ROOT)} -> {target}"


def test_the_project_speaks_of_itself_alone() -> None:
    """No machine's paths and no registry's address in what is published."""
    import subprocess

    names = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    words = re.compile("|".join(["/wo" + "rk/", "/opt/wh" + "eels", "pypi" + r"\.org", "DEVELOPERS" + r"\.md"]))
    for name in filter(None, names):
        path = ROOT / name
        if path.is_file() and path.suffix in {
            ".py",
            ".md",
            ".sql",
            ".toml",
            ".txt",
            ".html",
            ".js",
            ".css",
            ".json",
            ".jsonl",
            "",
        }:
            hit = words.search(path.read_text(encoding="utf-8", errors="replace"))
            assert not hit, f"{name}: {hit}"
