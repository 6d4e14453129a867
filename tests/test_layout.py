"""The tree: what a stranger relies on to find where a thing belongs."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = CONFIG["tool"]["setuptools"]["package-dir"]
MAX_LINES = 400


def modules() -> list[Path]:
    return sorted(p for d in (*FOLDERS.values(), "benchmarks", "docs", "tests") for p in (ROOT / d).rglob("*.py"))


def test_every_folder_with_code_is_listed_as_a_package() -> None:
    found = set()
    for package, folder in FOLDERS.items():
        for init in (ROOT / folder).rglob("__init__.py"):
            found.add(".".join([package, *init.parent.relative_to(ROOT / folder).parts]))
    assert found == set(CONFIG["tool"]["setuptools"]["packages"])


def test_every_module_stands_in_a_package() -> None:
    for package, folder in FOLDERS.items():
        if package == "kbstats.data":
            continue  # problems are data, not modules
        for p in (ROOT / folder).rglob("*.py"):
            assert (p.parent / "__init__.py").exists() or "shims" in p.parts, p


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_fits_in_one_reading(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_every_dependency_says_why_it_is_there() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    block = text.split("dependencies = [", 1)[1].split("\n]", 1)[0]
    lines = [line for line in block.splitlines() if line.strip().startswith('"')]
    assert len(lines) == len(CONFIG["project"]["dependencies"])
    assert all("#" in line for line in lines)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel of a clean copy of the tracked files: a build in the tree itself would leave traces in it."""
    out = tmp_path_factory.mktemp("wheel")
    tree = out / "tree"
    tree.mkdir()
    names = (
        subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
        .stdout.decode()
        .split("\0")
    )
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes((ROOT / name).read_bytes())
    p = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(out), str(tree)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert p.returncode == 0, p.stderr
    return zipfile.ZipFile(next(out.glob("kbstats-*.whl")))


def test_the_wheel_holds_kbstats_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert top == {"kbstats", next(t for t in top if t.endswith(".dist-info"))}
    assert "kbstats/__init__.py" not in wheel.namelist()  # a namespace package


def test_the_wheel_carries_sql_templates_and_samples(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    for folder, ending in [
        ("sql/schema", ".sql"),
        ("sql/models", ".sql"),
        ("sql/audits", ".sql"),
        ("site/templates", ".html"),
        ("site/static", ".css"),
        ("data", ".toml"),
        ("data/runs", ".json"),
        ("data/problems", ".py"),
        ("data/verifications", ".jsonl"),
        ("ingest/maps", ".toml"),
        ("analytics/verify/shims", ".py"),
    ]:
        here = {p.relative_to(ROOT).as_posix() for p in (ROOT / folder).rglob(f"*{ending}")}
        assert here, f"nothing ends in {ending} under {folder}"
        missing = {f"kbstats/{name}" for name in here} - set(names)
        assert not missing, f"not in the wheel: {sorted(missing)[:5]}"


def test_the_wheel_holds_no_caches(wheel: zipfile.ZipFile) -> None:
    assert not [n for n in wheel.namelist() if "__pycache__" in n or n.endswith(".pyc")]
