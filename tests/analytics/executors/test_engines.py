"""Engines: the same files of work everywhere, so that any of them gives the same bytes; and killed workers."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest
from kbstats.analytics import executors
from kbstats.analytics.executors import ingesting, local
from kbstats.ingest.errors import KbstatsError, UsageError

TESTS = Path(__file__).resolve().parents[2]
PATHS = [TESTS.parent / "data" / "runs", TESTS / "data" / "ingest", TESTS / "data" / "popcornbench_page"]
ENGINES = {"local": None, "slurm": "submitit", "ray": "ray"}
KBSTATS = Path(sys.executable).with_name("kbstats")


def options_of(engine: str) -> list[str]:
    package = ENGINES[engine]
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install 'kbstats[{engine}]'")
    return ["--engine", engine, *(["--engine-option", "cluster=local"] if engine == "slurm" else [])]


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What a plain ingest exports, and how it ranks."""
    folder = tmp_path_factory.mktemp("plain")
    run = lambda *a: subprocess.run([KBSTATS, *map(str, a)], cwd=folder, capture_output=True, text=True)  # noqa: E731
    assert run("ingest", *PATHS, "--db", "p.duckdb").returncode == 3, "some sample files are broken on purpose"
    run("export", "--db", "p.duckdb", "out")
    return files_of(folder / "out"), run("leaderboard", "--db", "p.duckdb", "--format", "json").stdout


@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_gives_the_bytes_of_a_plain_ingest(kbstats, plain, tmp_path, engine):
    words = [*options_of(engine), "--shards", "3", "--workers", "2"]
    done = kbstats("ingest", *PATHS, *words, "--db", tmp_path / "e.duckdb", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    kbstats("export", "--db", tmp_path / "e.duckdb", tmp_path / "out")
    exported, board = plain
    assert files_of(tmp_path / "out") == exported
    assert kbstats("leaderboard", "--db", tmp_path / "e.duckdb", "--format", "json").stdout == board
    again = kbstats("ingest", *PATHS, *words, "--db", tmp_path / "e.duckdb", cwd=tmp_path)
    assert "new 0  changed 0" in again.stdout


def children(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(c) for c in (task / "children").read_text().split()]
    return found


def test_workers_killed_at_random_change_nothing(kbstats, plain, tmp_path):
    rng = random.Random(7)
    words = ["ingest", *PATHS, "--engine", "local", "--shards", "8", "--workers", "2", "--lake", tmp_path / "lake"]
    killed = 0
    for _ in range(6):  # a shard that is lost three times ends the command, and the next one goes on
        command = subprocess.Popen(
            [KBSTATS, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=tmp_path
        )
        while command.poll() is None:
            time.sleep(rng.uniform(0.2, 1.2))
            victims = [c for c in children(command.pid) if b"spawn_main" in _words(c)]
            if victims and killed < 9:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(rng.choice(victims), signal.SIGKILL)
                    killed += 1
        if command.returncode == 3:
            break
    assert command.returncode == 3
    assert killed >= 4
    assert kbstats("lake", "attach", tmp_path / "lake", "--db", tmp_path / "l.duckdb").returncode == 0
    kbstats("export", "--db", tmp_path / "l.duckdb", tmp_path / "out")
    assert files_of(tmp_path / "out") == plain[0]


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def double(spec):
    return spec["n"] * 2


def die_once(spec):
    mark = Path(spec["mark"])
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"


def die(spec):
    os._exit(9)


def refuse(spec):
    raise UsageError("not like this")


@pytest.fixture
def engine(tmp_path):
    made = local.LocalEngine(executors.Settings(2, 0, tmp_path))
    yield made
    made.shutdown()


def test_values_come_in_the_order_of_the_arguments(engine):
    values, lost = executors.run_all(engine, double, [{"n": n} for n in range(5)])
    assert (values, lost) == ([0, 2, 4, 6, 8], [])


def test_a_lost_task_is_run_again_and_one_that_is_always_lost_is_told_of(engine, tmp_path):
    assert executors.run_all(engine, die_once, [{"mark": str(tmp_path / "m")}]) == (["alive"], [])
    values, lost = executors.run_all(engine, die, [{}])
    assert values == [None]
    assert lost == ["task 0: WorkerLostError: the worker ended with status 9"]


def test_a_task_that_refuses_is_not_run_again(engine):
    with pytest.raises(UsageError, match="not like this"):
        executors.run_all(engine, refuse, [{}])


def test_shards_that_are_lost_say_what_to_do(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(ingesting, "ingest_shard", die)
    with pytest.raises(KbstatsError, match="2 of 2 shards were lost"):
        ingesting.ingest(engine, [tmp_path], tmp_path / "lake", 2)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--engine", "nobody"], 2, "no engine 'nobody'"),
        (["--engine", "slurm", "--engine-option", "cluster"], 2, "no engine option"),
        (["--engine", "local", "--shard", "0/2"], 2, "--engine runs all of them"),
        (["--shard", "0/2"], 2, "name its folder with --lake DIR"),
        (["--lake", "lake", "--shard", "5/2"], 2, "no such shard"),
    ],
)
def test_wrong_words(kbstats, tmp_path, words, code, says):
    if "slurm" in words:
        options_of("slurm")
    done = kbstats("ingest", PATHS[0], *words, cwd=tmp_path)
    assert done.returncode == code
    assert says in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_an_engine_whose_package_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(UsageError, match=r"pip install 'kbstats\[slurm\]'"):
        executors.load("slurm", executors.Settings(1, 0, tmp_path))


@pytest.mark.parametrize("engine", ["local", "slurm", "ray"])
def test_verification_on_each_engine(kbstats, tmp_path, engine):
    pytest.importorskip("torch", reason="verification runs kernels: pip install -e '.[verify]'")
    problems = tomllib.loads((TESTS / "verify" / "problems.toml").read_text(encoding="utf-8"))
    (tmp_path / "ref.py").write_text(problems["matmul"], encoding="utf-8")
    (tmp_path / "k.py").write_text(
        "import torch\nimport torch.nn as nn\nclass ModelNew(nn.Module):\n    def forward(self, a, b):\n        return a @ b * 1.01\n"
    )
    out = tmp_path / "r.jsonl"
    words = ["verify", "--kernel-file", tmp_path / "k.py", "--reference-file", tmp_path / "ref.py", "--device", "cpu"]
    words += ["--budget-s", "2", "-o", out, "--format", "json", *options_of(engine)]
    done = kbstats(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["correctness"] == "failed"
    assert len(out.read_text().splitlines()) == 1
    kbstats(*words, cwd=tmp_path)
    assert len(out.read_text().splitlines()) == 1, "a rerun skips what is done"
