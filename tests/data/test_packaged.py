"""The demo from an installed wheel, without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = (
    "import kbstats.data, sys; print(kbstats.data.__file__);"
    "from kbstats.analytics.cli import main; sys.argv = ['kbstats', 'demo', '-o', sys.argv[1]]; main()"
)


def alone(command: list[str]) -> list[str]:
    """The command in a network namespace of its own, where such can be made."""
    walls = ["unshare", "--user", "--map-root-user", "--net"]
    made = shutil.which("unshare") and subprocess.run([*walls, "true"], capture_output=True).returncode == 0
    return [*walls, *command] if made else command


def test_the_demo_runs_from_the_wheel_without_a_network(tmp_path: Path) -> None:
    pytest.importorskip("setuptools")
    tree, site = tmp_path / "tree", tmp_path / "site"
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0"):
        if name and (ROOT / name).is_file() and not name.startswith(("tests/", "docs/")):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    pip = [sys.executable, "-m", "pip", "--quiet", "--no-input"]
    build = [*pip, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(tmp_path), str(tree)]
    assert subprocess.run(build, capture_output=True).returncode == 0
    wheel = next(tmp_path.glob("kbstats-*.whl"))
    with zipfile.ZipFile(wheel) as packed:
        sizes = [i.file_size for i in packed.infolist() if i.filename.startswith("kbstats/data/")]
    assert sum(sizes) < 10_000_000
    install = [*pip, "install", "--no-deps", "--no-index", "--target", str(site), str(wheel)]
    assert subprocess.run(install, capture_output=True).returncode == 0
    done = subprocess.run(
        alone([sys.executable, "-c", CODE, str(tmp_path / "demo")]),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(site), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith(str(site))
    boards = [part.splitlines() for part in done.stdout.split("(kbstats leaderboard --level 3 --trust ")[1:]]
    assert [board[0] for board in boards] == ["claimed)", "audited)", "verified)"]
    winners = [next(line for line in board if line.startswith("1 ")).split()[1] for board in boards]
    assert winners == ["sample-c", "sample-a", "sample-a"]
    assert (tmp_path / "demo" / "site" / "index.html").is_file()
