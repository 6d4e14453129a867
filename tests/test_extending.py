"""docs/extending.md does each of its four things once; here it is done to a copy of the tree."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?P<language>\w+) (?P<path>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCKS = {m["path"]: m["text"] for m in BLOCK.finditer((ROOT / "docs" / "extending.md").read_text(encoding="utf-8"))}
FOLDERS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-dir"]


def insert(path: Path, before: str, text: str) -> None:
    """Put text before the first line that contains `before`."""
    old = path.read_text(encoding="utf-8")
    at = old.index(before)
    at = old.rfind("\n", 0, at) + 1
    path.write_text(old[:at] + text + old[at:], encoding="utf-8")


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory):
    """A command line over a copy of the tree with everything on the page done to it."""
    tmp = tmp_path_factory.mktemp("extended")
    for package, folder in FOLDERS.items():
        target = tmp / Path(*package.split("."))
        shutil.copytree(ROOT / folder, target, ignore=shutil.ignore_patterns("__pycache__"))
    house = tmp / "kbstats"
    (house / "ingest/formats/lines.py").write_text(BLOCKS["ingest/formats/lines.py"])
    (house / "site/pages/hardware.py").write_text(BLOCKS["site/pages/hardware.py"])
    (house / "site/templates/hardware.html").write_text(BLOCKS["site/templates/hardware.html"])
    insert(house / "data/failure_classes.toml", "[[class]]", BLOCKS["data/failure_classes.toml"])
    insert(house / "sql/models/board.sql", "median(n_turns)", BLOCKS["sql/models/board.sql"])
    insert(house / "analytics/leaderboards.py", '"median_turns": r["median_turns"]', BLOCKS["analytics/leaderboards.py"])
    info = tmp / "more-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: more\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kbstats.formats]\n" + BLOCKS["pyproject.toml"].replace(chr(34), ""))

    def run(*argv: object) -> subprocess.CompletedProcess[str]:
        code = "from kbstats.analytics.cli import main; main()"
        env = os.environ | {"PYTHONPATH": str(tmp), "COLUMNS": "80"}
        p = subprocess.run([sys.executable, "-c", code, *map(str, argv)], capture_output=True, text=True, env=env, cwd=tmp)
        assert p.returncode == 0, p.stderr
        return p

    folder = tmp / "sweep-1"
    folder.mkdir()
    (folder / "attempts.jsonl").write_text(
        '{"agent": "a", "task": "t1", "passed": true, "candidate_s": 0.002, "eager_s": 0.003}\n'
        '{"agent": "a", "task": "t2", "passed": false, "eager_s": 0.004}\n'
    )
    run("ingest", folder, "--db", tmp / "x.duckdb")
    return run, tmp


def test_the_copy_is_what_runs(extended) -> None:
    run, tmp = extended
    assert str(tmp) in run("sql", "select path from sources", "--db", tmp / "x.duckdb", "--format", "csv").stdout


def test_the_format_reads_its_files(extended) -> None:
    run, tmp = extended
    rows = json.loads(run("sql", "select * from runs order by problem_name", "--db", tmp / "x.duckdb", "--format", "json").stdout)
    assert [(r["format"], r["model"], r["sweep"], r["correct"]) for r in rows] == [("lines", "a", "sweep-1", True), ("lines", "a", "sweep-1", False)]
    assert rows[0]["runtime_us"] == pytest.approx(2000)
    assert rows[0]["speedup"] == pytest.approx(1.5)


def test_the_class_is_in_the_taxonomy(extended) -> None:
    run, tmp = extended
    query = "select owner from failure_classes where class = 'cuda.cooperative_launch'"
    assert json.loads(run("sql", query, "--db", tmp / "x.duckdb", "--format", "json").stdout) == [{"owner": "model"}]


def test_the_column_is_on_the_board(extended) -> None:
    run, tmp = extended
    board = json.loads(run("leaderboard", "--db", tmp / "x.duckdb", "--format", "json").stdout)
    assert [(r["model"], r["n"], r["max_turns_used"]) for r in board] == [("a", 2, None)]


def test_the_page_is_on_the_site(extended) -> None:
    run, tmp = extended
    run("site", "build", "-o", tmp / "site", "--db", tmp / "x.duckdb")
    assert '<th scope="row">not said</th><td class="n">2</td>' in (tmp / "site/hardware.html").read_text()
    assert 'href="hardware.html"' in (tmp / "site/index.html").read_text()
