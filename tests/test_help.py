"""Every example in `--help` runs, on the samples that come with kbstats, in the order a user would try them."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = re.compile(r"^\s*Example: (?P<command>kbstats .+)$", re.MULTILINE)

# Without a GPU these end with the next step; where there is one, they would keep it busy for minutes.
NEEDS_GPU = {"kbstats verify --top 3 --level 3 --problems problems/", "kbstats verify run bundle/ -o results.jsonl"}
# Served until interrupted: tests/site looks at it in a browser.
ENDLESS = {"kbstats site serve board/ --port 0"}
# What a command leaves behind is what a later one starts from.
ORDER = ("ingest", "demo", "verify plan", "site build", "export")


def commands() -> dict[str, str]:
    """Help text by command, groups included."""
    import typer.main
    from kbstats.analytics.cli import app

    def walk(command, path):
        yield path, command.help or ""
        for name, sub in getattr(command, "commands", {}).items():
            yield from walk(sub, f"{path} {name}".strip())

    return dict(walk(typer.main.get_command(app), ""))


def examples() -> list[str]:
    found = [m["command"] for text in commands().values() for m in EXAMPLE.finditer(text)]
    return sorted(found, key=lambda c: next((i for i, o in enumerate(ORDER) if c.startswith(f"kbstats {o}")), 99))


def test_every_command_has_an_example_of_its_own() -> None:
    groups = {"", "site", "lake"}  # their commands have them
    for path, text in commands().items():
        found = [m["command"] for m in EXAMPLE.finditer(text)]
        assert path in groups or found, f"kbstats {path}"
        assert all(c.startswith(f"kbstats {path}".strip()) for c in found), path


def test_help_is_whole_at_80_columns(kbstats) -> None:
    for path, text in commands().items():
        said = kbstats(*path.split(), "--help").stdout
        assert max(map(len, said.splitlines())) <= 80, path
        assert not re.search(r"\w\.\.\.$", said, re.MULTILINE), f"kbstats {path}: cut short"
        told = " ".join(text.split("\n\n")[0].split())
        assert told in " ".join(said.split())
        if path:
            group, _, name = path.rpartition(" ")
            listed = " ".join(kbstats(*group.split(), "--help").stdout.split())
            assert f"{name} {told}" in listed, path


Run = Callable[[str], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def run(kbstats, folder: Path) -> Run:
    return lambda command: kbstats(*shlex.split(command)[1:], cwd=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, kbstats) -> Path:
    """What the examples name: runs, a table of results, problems, two files for `verify`."""
    place = tmp_path_factory.mktemp("examples")
    shutil.copytree(ROOT / "data" / "runs", place / "runs")
    shutil.copytree(ROOT / "data" / "problems", place / "problems", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "data" / "verifications" / "h200.jsonl", place / "results.jsonl")
    (place / "results.csv").write_text(
        "folder,mode,task,problem_id,level,model_raw,outcome,speedup,total_turns\n"
        "sweep-1,all,1_Gated_Residual.py,1,1,mine,correct,1.5,4\n"
    )
    model = "import torch\n\n\nclass {name}(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
    inputs = "\n\ndef get_inputs():\n    return [torch.randn(64, 64)]\n\n\ndef get_init_inputs():\n    return []\n"
    kbstats("ingest", "runs/", "--shard", "0/1", "--lake", "lake/", cwd=place)
    (place / "reference.py").write_text(model.format(name="Model") + inputs)
    (place / "mine.py").write_text(model.format(name="ModelNew"))
    return place


@pytest.mark.parametrize("command", [c for c in examples() if c not in ENDLESS])
def test_the_example_runs(command: str, folder: Path, run: Run) -> None:
    if not (folder / "kbstats.duckdb").exists() and "ingest" not in command:
        assert run("kbstats ingest runs/").returncode == 0
    if command in NEEDS_GPU:
        if command.startswith("kbstats verify run") and not (folder / "bundle").exists():
            run("kbstats verify plan --top 20 --problems problems/ -o bundle/")
        p = run(command + " --device cpu --only nothing" if "run" in command.split() else command + " --device cuda:99")
        assert p.returncode in (0, 1)
        assert p.returncode == 0 or "--device cpu" in p.stderr
        return
    p = run(command)
    assert p.returncode == 0, p.stderr
    assert "Traceback" not in p.stderr
    assert p.stdout or "-o" in command.split(), command
